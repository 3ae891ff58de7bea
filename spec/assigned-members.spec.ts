import express from 'express';
import { type Application, createServer, express as wayExpress, Router } from 'waypost';
import { portOf } from './support/running';
import { ask } from './support/wire';

/** The names that an object's classes give it, up to those that any object or function has. */
function namesOf(owner: object): string[] {
  const names = new Set<string>();
  for (let at = owner; at !== Object.prototype && at !== Function.prototype; at = Object.getPrototypeOf(at) as object) {
    for (const name of Object.getOwnPropertyNames(at)) names.add(name);
  }
  return [...names];
}

function assign(owner: object, name: string, value: unknown): void {
  (owner as Record<string, unknown>)[name] = value;
}

const OWN = createServer({ logging: { level: 'silent' } });
const METHODS = Object.getPrototypeOf(OWN) as Application;
/** What a program that keeps things on Express's application can't meet with there. */
const ADDED = namesOf(OWN).filter((name) => !(name in express()));

/** Uses what an application does, by its class's methods where the program has put others. */
async function exercise(app: Application): Promise<void> {
  const router = Router().get('/:id', (req, res) => res.json(req.params)) as Router;
  app.use('/mounted', router);
  app.use('/app', wayExpress({ logging: { level: 'silent' } }).get('/:id', (_req, res) => void res.send('inner')));
  app.use((req, _res, next) => {
    if (req.path === '/rewritten') req.url = '/fails';
    next();
  });
  app.get('/fails', () => {
    throw Object.assign(new Error('no'), { status: 418, expose: true });
  });
  app.post('/json', (req, res) => res.json(req.body));
  const port = portOf(await METHODS.start.call(app, { port: 0, host: '127.0.0.1' }));
  const told = async (path: string, question = {}): Promise<[number, string]> => {
    const { status, body } = await ask(port, path, question);
    return [status, status < 300 ? body : ''];
  };
  expect(await told('/mounted/7')).toEqual([200, '{"id":"7"}']);
  expect(await told('/app/7')).toEqual([200, 'inner']);
  expect(await told('/fails')).toEqual([418, '']);
  expect(await told('/rewritten')).toEqual([418, '']);
  expect(await told('/nothing')).toEqual([404, '']);
  expect(await told('/json', { method: 'POST', body: '{"a":1}', headers: { 'content-type': 'application/json' } })).toEqual([200, '{"a":1}']);
  expect(await told('/json', { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } })).toEqual([400, '']);
  expect((await METHODS.inject.call(app, '/mounted/8')).body).toBe('{"id":"8"}');
  expect(METHODS.routes.call(app).map(({ path }) => path)).toEqual(['/mounted/:id', '/fails', '/json']);
  await METHODS.close.call(app);
  await expect(ask(port, '/')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
}

test('there are such names, those that programs assign among them', () => {
  expect(ADDED).toEqual(expect.arrayContaining(['server', 'log', 'start', 'close']));
});

test.each([...ADDED, 'settings'])('app.%s can be assigned, and the application works on', async (name) => {
  for (const value of ['a value', () => 'a function', null]) {
    const app = createServer({ logging: { level: 'silent' } });
    assign(app, name, value);
    expect((app as unknown as Record<string, unknown>)[name]).toBe(value);
    expect(Object.keys(app)).toContain(name);
    await exercise(app);
    expect((app as unknown as Record<string, unknown>)[name]).toBe(value);
  }
});

test('so can they all at once, also while it runs and while it is mounted', async () => {
  const app = createServer({ logging: { level: 'silent' } });
  const inner = createServer({ logging: { level: 'silent' } });
  for (const name of ADDED) for (const one of [app, inner]) assign(one, name, name);
  app.use('/inner', inner);
  inner.get('/:id', (req, res) => res.json(req.params));
  expect((await METHODS.inject.call(app, '/inner/3')).body).toBe('{"id":"3"}');
  await exercise(app);

  const running = createServer({ logging: { level: 'silent' } });
  const port = portOf(await running.start(0, '127.0.0.1'));
  for (const name of ADDED) assign(running, name, name);
  running.get('/late', (_req, res) => res.send('late'));
  expect((await ask(port, '/late')).body).toBe('late');
  await METHODS.close.call(running);
  await expect(ask(port, '/late')).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test('what is assigned to one application is not on another', () => {
  const [one, other] = [createServer({ logging: { level: 'silent' } }), createServer({ logging: { level: 'silent' } })];
  for (const name of ADDED) assign(one, name, name);
  expect(other.server).toBeNull();
  expect(other.log).toHaveProperty('info');
});

test("a router's members can be assigned as well, but for those that Express's has", async () => {
  const theirs = express.Router();
  for (const name of namesOf(Router()).filter((one) => !(one in theirs)).concat('params', 'registrations')) {
    const router = Router();
    assign(router, name, name);
    router.get('/:id', (req, res) => res.json(req.params));
    const app = createServer({ logging: { level: 'silent' } }).use('/r', router);
    router.get('/x/late', (_req, res) => res.send('late'));
    expect([name, (await app.inject('/r/3')).body, (await app.inject('/r/x/late')).body]).toEqual([name, '{"id":"3"}', 'late']);
  }
});
