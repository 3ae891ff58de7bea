import cookieParser from 'cookie-parser';
import { sign } from 'cookie-signature';
import type { Express } from 'express';
import { answerErrors, ExpressOracle } from '../support/express-oracle';

const SECRETS = ['the new secret', 'the old one'];
let oracle: ExpressOracle;

function program(app: Express): void {
  app.use(cookieParser(SECRETS));
  app.get('/read', (req, res) => void res.json({ plain: req.cookies, signed: req.signedCookies, secret: req.secret }));
  app.get('/write', (_req, res) => {
    res.cookie('plain', 'a b;c', { maxAge: 60_000, httpOnly: true, sameSite: 'strict', path: '/read' });
    res.cookie('seen', { at: [1, 2] });
    res.cookie('who', 'Ada', { signed: true, secure: true });
    res.end();
  });
  app.get('/forget', (_req, res) => void res.clearCookie('who', { path: '/' }).end());
  app.use(answerErrors);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program, {}, [[/Expires=[^;]+/g, 'Expires=…']]);
});

afterAll(() => oracle.close());

async function read(cookie: string): Promise<unknown> {
  return JSON.parse((await oracle.ask('/read', { headers: { cookie } })).body);
}

test('reads cookies, quoted, encoded and as JSON', async () => {
  expect(await read('a=1; b="two words"; c=%C3%A9; d=j:{"x":[1]}; a=2')).toEqual({ plain: { a: '1', b: 'two words', c: 'é', d: { x: [1] } }, signed: {}, secret: SECRETS[0] });
  expect(await read('__proto__=1; c=%E0%A4%A')).toMatchObject({ plain: { c: '%E0%A4%A' } });
});

test('reads back what res.cookie wrote, and what was signed with an older secret', async () => {
  const written = (await oracle.ask('/write')).headers['set-cookie'] as string[];
  expect(written).toHaveLength(3);
  const [plain, seen, who] = written.map((line) => line.split(';', 1)[0]) as [string, string, string];
  expect(await read([plain, seen, who].join('; '))).toMatchObject({ plain: { plain: 'a b;c', seen: { at: [1, 2] } }, signed: { who: 'Ada' } });

  expect(await read(`who=${encodeURIComponent(`s:${sign('Eve', SECRETS[1] as string)}`)}`)).toMatchObject({ plain: {}, signed: { who: 'Eve' } });
});

test('tells forged ones from signed ones', async () => {
  const [, , line = ''] = (await oracle.ask('/write')).headers['set-cookie'] as string[];
  const cookie = line.split(';', 1)[0] ?? '';
  expect(cookie).toMatch(/^who=s%3AAda\./);
  expect(await read(cookie.replace('Ada', 'Bob'))).toMatchObject({ plain: {}, signed: { who: false } });
});

test('has the browser forget them', async () => {
  const visitor = oracle.visitor();
  await visitor.ask('/write');
  expect(visitor.jar('waypost').has('who')).toBe(true);
  await visitor.ask('/forget');
  expect(visitor.jar('waypost').has('who')).toBe(false);
});
