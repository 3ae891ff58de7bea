import type { Express } from 'express';
import basicAuth from 'express-basic-auth';
import { ExpressOracle } from '../support/express-oracle';

let oracle: ExpressOracle;

function program(app: Express): void {
  app.use('/basic', basicAuth({ users: { ada: 'engine' }, challenge: true, realm: 'notes', unauthorizedResponse: (req: basicAuth.IBasicAuthedRequest) => ({ refused: req.auth?.user ?? null }) }));
  app.get('/basic/me', (req, res) => void res.json((req as unknown as basicAuth.IBasicAuthedRequest).auth));
  app.use('/slow', basicAuth({ authorizeAsync: true, authorizer: (name: string, _password: string, done: (error: unknown, ok?: boolean) => void) => void setImmediate(done, null, name === 'bob') }));
  app.get('/slow', (_req, res) => void res.send('in'));
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(() => oracle.close());

function basic(name: string, password: string): { headers: Record<string, string> } {
  return { headers: { authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}` } };
}

test('lets in who has the password', async () => {
  expect(JSON.parse((await oracle.ask('/basic/me', basic('ada', 'engine'))).body)).toEqual({ user: 'ada', password: 'engine' });
  expect((await oracle.ask('/slow', basic('bob', 'any'))).body).toBe('in');
});

test('challenges all others', async () => {
  expect(await oracle.ask('/basic/me')).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Basic realm="notes"' }, body: '{"refused":null}' });
  expect(await oracle.ask('/basic/me', basic('ada', 'wrong'))).toMatchObject({ status: 401, body: '{"refused":"ada"}' });
  expect((await oracle.ask('/slow', basic('eve', 'any'))).status).toBe(401);
});
