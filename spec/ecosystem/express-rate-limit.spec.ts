import type { Express } from 'express';
import { rateLimit } from 'express-rate-limit';
import { answerErrors, ExpressOracle, type Mask } from '../support/express-oracle';

let oracle: ExpressOracle;

// What is left of the window may be a second less by the time the answer is made.
const MASKS: Mask[] = [[/reset=\d+|; t=\d+/, 'reset'], [/^(?:59|60|\d{10})$/, 'seconds']];

function program(app: Express): void {
  app.set('trust proxy', 1);
  app.use('/draft7', rateLimit({ windowMs: 60_000, limit: 2, standardHeaders: 'draft-7', legacyHeaders: false }));
  app.use('/draft8', rateLimit({ windowMs: 60_000, limit: 1, standardHeaders: 'draft-8', legacyHeaders: false, identifier: 'plan' }));
  app.use('/legacy', rateLimit({ windowMs: 60_000, limit: 2, legacyHeaders: true, message: { error: 'slow down' } }));
  app.use('/own', rateLimit({
    windowMs: 60_000,
    limit: (req) => (req.query['paid'] === undefined ? 1 : 3),
    keyGenerator: (req) => String(req.headers['x-key']),
    skip: (req) => req.headers['x-key'] === 'friend',
    handler: (_req, res, _next, options) => void res.status(options.statusCode).json({ own: true }),
  }));
  app.use('/failed', rateLimit({ windowMs: 60_000, limit: 1, skipSuccessfulRequests: true }));
  app.get('/failed', (_req, res) => void res.send('fine'));
  for (const path of ['/draft7', '/draft8', '/legacy', '/own']) app.get(path, (_req, res) => void res.send('served'));
  app.use(answerErrors);
}

beforeEach(async () => {
  oracle = await ExpressOracle.start(program, { server: { trustProxy: 1 } }, MASKS);
});

afterEach(() => oracle.close());

test('answers 429 after the limit, with the headers of the drafts', async () => {
  expect((await oracle.ask('/draft7')).headers).toMatchObject({ 'ratelimit-policy': '2;w=60', ratelimit: 'limit=2, remaining=1, reset' });
  expect((await oracle.ask('/draft7')).headers['ratelimit']).toBe('limit=2, remaining=0, reset');
  expect(await oracle.ask('/draft7')).toMatchObject({ status: 429, headers: { 'retry-after': 'seconds' }, body: 'Too many requests, please try again later.' });

  expect((await oracle.ask('/draft8')).headers['ratelimit']).toMatch(/^"plan"; r=0reset/);
  expect((await oracle.ask('/draft8')).status).toBe(429);
});

test('answers 429 with the older headers and a message of its own', async () => {
  expect((await oracle.ask('/legacy')).headers).toMatchObject({ 'x-ratelimit-limit': '2', 'x-ratelimit-remaining': '1' });
  await oracle.ask('/legacy');
  expect(await oracle.ask('/legacy')).toMatchObject({ status: 429, body: '{"error":"slow down"}', headers: { 'content-type': 'application/json; charset=utf-8' } });
});

test('counts each client of a trusted proxy by itself', async () => {
  const from = (address: string) => oracle.ask('/draft7', { headers: { 'x-forwarded-for': address } });
  for (const expected of [200, 200, 429]) expect((await from('203.0.113.7')).status).toBe(expected);
  expect((await from('203.0.113.8')).status).toBe(200);
});

test('counts by a key of its own, with limits by the request, and hands over to a handler', async () => {
  const by = (key: string, query = '') => oracle.ask(`/own${query}`, { headers: { 'x-key': key } });
  expect((await by('a')).status).toBe(200);
  expect(await by('a')).toMatchObject({ status: 429, body: '{"own":true}' });
  for (const expected of [200, 200, 200, 429]) expect((await by('b', '?paid')).status).toBe(expected);
  for (let i = 0; i < 3; i++) expect((await by('friend')).status).toBe(200);
});

test('takes back what it counted for answers that went well', async () => {
  for (let i = 0; i < 3; i++) expect((await oracle.ask('/failed')).status).toBe(200);
});
