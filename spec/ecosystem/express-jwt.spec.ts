import type { Express } from 'express';
import { expressjwt, type Request as JwtRequest, UnauthorizedError } from 'express-jwt';
import jwt from 'jsonwebtoken';
import { ExpressOracle } from '../support/express-oracle';

const SECRET = 'an example secret for tokens';
let oracle: ExpressOracle;

function program(app: Express): void {
  app.use('/api', expressjwt({
    secret: SECRET,
    algorithms: ['HS256'],
    isRevoked: async (_req, token) => (token?.payload as { jti?: string }).jti === 'revoked',
  }).unless({ path: ['/api/open'] }));
  app.get('/api/open', (_req, res) => void res.send('open'));
  app.get('/api/me', (req: JwtRequest, res) => void res.json(req.auth?.sub));
  app.get('/optional', expressjwt({ secret: async () => SECRET, algorithms: ['HS256'], credentialsRequired: false, getToken: (req) => req.query['token'] as string | undefined, requestProperty: 'user' }), (req, res) => void res.json(req.user ?? null));

  app.use(((error: Error, _req, res, next) => {
    if (error instanceof UnauthorizedError) res.status(error.status).json({ code: error.code, message: error.message });
    else next(error);
  }) as import('express').ErrorRequestHandler);
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(() => oracle.close());

function bearer(payload: object, options: jwt.SignOptions = {}, secret = SECRET): { headers: Record<string, string> } {
  return { headers: { authorization: `Bearer ${jwt.sign(payload, secret, options)}` } };
}

test('takes a token, and leaves open what is excepted', async () => {
  expect((await oracle.ask('/api/me', bearer({ sub: 'ada' }))).body).toBe('"ada"');
  expect((await oracle.ask('/api/open')).body).toBe('open');
});

test.each<[string, { headers?: Record<string, string> }, string]>([
  ['no token', {}, 'credentials_required'],
  ['another scheme', { headers: { authorization: 'Basic YTpi' } }, 'credentials_bad_scheme'],
  ['a forged token', bearer({ sub: 'ada' }, {}, 'another secret'), 'invalid_token'],
  ['an expired token', bearer({ sub: 'ada' }, { expiresIn: -1 }), 'invalid_token'],
  ['a token of another algorithm', bearer({ sub: 'ada' }, { algorithm: 'HS512' }), 'invalid_token'],
  ['a revoked token', bearer({ sub: 'ada', jti: 'revoked' }), 'revoked_token'],
])('refuses %s', async (_what, question, code) => {
  expect(await oracle.ask('/api/me', question)).toMatchObject({ status: 401, body: expect.stringContaining(`"code":"${code}"`) });
});

test('can do without, and take it from elsewhere', async () => {
  expect((await oracle.ask('/optional')).body).toBe('null');
  expect(JSON.parse((await oracle.ask(`/optional?token=${jwt.sign({ sub: 'eve' }, SECRET, { noTimestamp: true })}`)).body)).toEqual({ sub: 'eve' });
});
