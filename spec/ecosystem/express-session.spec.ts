import type { Express } from 'express';
import session from 'express-session';
import { answerErrors, ExpressOracle, type Side } from '../support/express-oracle';

declare module 'express-session' {
  interface SessionData {
    visits: number;
    user: string;
  }
}

const SECRET = 'an example secret for sessions';
let oracle: ExpressOracle;
const stores = new Map<string, session.MemoryStore>();

function program(app: Express, side: Side): void {
  if (side.name === 'express') app.set('trust proxy', 'loopback');
  const store = new session.MemoryStore();
  stores.set(side.name, store);
  app.use(session({ secret: SECRET, resave: false, saveUninitialized: false, store, name: 'sid', cookie: { maxAge: 60_000, path: '/', secure: 'auto' } }));
  app.get('/visit', (req, res) => {
    req.session.visits = (req.session.visits ?? 0) + 1;
    res.json({ visits: req.session.visits, user: req.session.user });
  });
  app.get('/idle', (_req, res) => void res.send('nothing is kept'));
  app.get('/stream', (req, res) => {
    req.session.visits = 100;
    res.write('first ');
    res.write('second ');
    res.end('third');
  });
  app.get('/redirect', (req, res) => {
    req.session.visits = 50;
    res.redirect('/visit');
  });
  app.post('/login', (req, res, next) => {
    const before = req.sessionID;
    req.session.regenerate((error) => {
      if (error) return next(error);
      req.session.user = 'Ada';
      req.session.save((failure) => (failure ? next(failure) : void res.json({ changed: before !== req.sessionID })));
    });
  });
  app.post('/logout', (req, res, next) => {
    req.session.destroy((error: unknown) => {
      if (error) next(error);
      else res.clearCookie('sid').sendStatus(204);
    });
  });
  app.use(answerErrors);
}

beforeEach(async () => {
  oracle = await ExpressOracle.start(program, { server: { trustProxy: 'loopback' } }, [[/sid=s%3A[^;]+/, 'sid=…'], [/Expires=[^;]+/, 'Expires=…']]);
});

afterEach(() => oracle.close());

test('survives from request to request, for each visitor their own', async () => {
  const [ada, bob] = [oracle.visitor(), oracle.visitor()];
  expect(await ada.ask('/visit')).toMatchObject({ body: '{"visits":1}', headers: { 'set-cookie': ['sid=…; Path=/; Expires=…; HttpOnly'] } });
  expect((await ada.ask('/visit')).body).toBe('{"visits":2}');
  expect((await bob.ask('/visit')).body).toBe('{"visits":1}');
  expect((await ada.ask('/visit')).body).toBe('{"visits":3}');
});

test('is not made for who leaves nothing in it', async () => {
  expect((await oracle.visitor().ask('/idle')).headers).not.toHaveProperty('set-cookie');
  for (const store of stores.values()) expect(Object.keys((store as unknown as { sessions: object }).sessions)).toEqual([]);
});

test('is saved before the answer ends, when it is streamed or redirects', async () => {
  const ada = oracle.visitor();
  expect((await ada.ask('/stream')).body).toBe('first second third');
  expect((await ada.ask('/visit')).body).toBe('{"visits":101}');
  expect(await ada.ask('/redirect')).toMatchObject({ status: 302, headers: { location: '/visit' } });
  expect((await ada.ask('/visit')).body).toBe('{"visits":51}');
});

test('gets a new id on login, and the old one is worth nothing', async () => {
  const ada = oracle.visitor();
  const thief = oracle.visitor();
  await ada.ask('/visit');
  for (const side of stores.keys()) thief.jar(side).set('sid', ada.jar(side).get('sid') ?? '');
  expect((await ada.post('/login', '')).body).toBe('{"changed":true}');
  expect((await ada.ask('/visit')).body).toBe('{"visits":1,"user":"Ada"}');
  expect((await thief.ask('/visit')).body).toBe('{"visits":1}');
});

test('ends on logout', async () => {
  const ada = oracle.visitor();
  await ada.post('/login', '');
  expect((await ada.post('/logout', '')).status).toBe(204);
  expect((await ada.ask('/visit')).body).toBe('{"visits":1}');
});

test('is not taken from a forged cookie', async () => {
  const eve = oracle.visitor();
  for (const side of stores.keys()) eve.jar(side).set('sid', 's%3Aguessed.forged');
  expect(await eve.ask('/visit')).toMatchObject({ body: '{"visits":1}', headers: { 'set-cookie': [expect.any(String)] } });
});

test('keeps its cookie to HTTPS where the client came by it', async () => {
  const { headers } = await oracle.ask('/visit', { headers: { 'x-forwarded-proto': 'https' } });
  expect(headers['set-cookie']).toEqual(['sid=…; Path=/; Expires=…; HttpOnly; Secure']);
});
