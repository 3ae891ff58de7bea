import helmet from 'helmet';
import { answerErrors, ExpressOracle } from '../support/express-oracle';

let oracle: ExpressOracle;

beforeAll(async () => {
  oracle = await ExpressOracle.start((app) => {
    app.use('/nonce', (_req, res, next) => {
      res.locals['nonce'] = 'from-the-locals';
      next();
    });
    app.use('/nonce', helmet({
      contentSecurityPolicy: { directives: { defaultSrc: ["'self'", (_req, res) => `'nonce-${(res as unknown as { locals: { nonce: string } }).locals.nonce}'`] } },
      frameguard: { action: 'deny' },
    }));
    app.use('/plain', helmet());
    app.get('/nonce', (_req, res) => void res.send('<p>nonce</p>'));
    app.get('/plain', (_req, res) => void res.setHeader('X-Powered-By', 'something').send('<p>plain</p>'));
    app.get('/plain/json', (_req, res) => void res.json({ a: 1 }));
    app.get('/plain/broken', () => {
      throw new Error('broken');
    });
    app.get('/bare', (_req, res) => void res.send('bare'));
    app.use(answerErrors);
  });
});

afterAll(() => oracle.close());

test('sets its headers on what stands below it, and on nothing else', async () => {
  expect((await oracle.ask('/plain')).headers).toMatchObject({
    'content-security-policy': expect.stringContaining("default-src 'self'") as string,
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'SAMEORIGIN',
    'referrer-policy': 'no-referrer',
    'content-type': 'text/html; charset=utf-8',
  });
  expect((await oracle.ask('/plain/json', { method: 'HEAD' })).headers).toHaveProperty('x-frame-options', 'SAMEORIGIN');
  expect((await oracle.ask('/bare')).headers).not.toHaveProperty('x-frame-options');
});

test('keeps them on errors', async () => {
  expect(await oracle.ask('/plain/broken')).toMatchObject({ status: 500, headers: { 'x-frame-options': 'SAMEORIGIN' }, body: '{"failed":"broken"}' });
});

test('makes directives of the request and of res.locals', async () => {
  const { headers } = await oracle.ask('/nonce');
  expect(headers['content-security-policy']).toContain("default-src 'self' 'nonce-from-the-locals'");
  expect(headers['x-frame-options']).toBe('DENY');
});
