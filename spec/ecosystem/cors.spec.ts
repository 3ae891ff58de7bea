import cors from 'cors';
import { answerErrors, ExpressOracle } from '../support/express-oracle';

let oracle: ExpressOracle;

beforeAll(async () => {
  oracle = await ExpressOracle.start((app) => {
    app.use('/open', cors());
    app.use('/some', cors((req, done) => done(null, {
      origin: ['http://a.example', /\.b\.example$/],
      credentials: true,
      exposedHeaders: ['X-Total'],
      maxAge: 600,
      methods: req.headers['x-narrow'] === undefined ? ['GET', 'PUT'] : ['GET'],
    })));
    app.use('/refused', cors({ origin: (_origin, done) => done(new Error('not from there')) }));
    app.options('/route', cors({ origin: 'http://a.example' }));
    for (const path of ['/open', '/some', '/refused', '/route']) {
      app.put(path, (req, res) => void res.json(req.method));
      app.get(path, (req, res) => void res.json(req.method));
    }
    app.use((_req, res) => void res.sendStatus(404));
    app.use(answerErrors);
  });
});

afterAll(() => oracle.close());

function preflight(path: string, origin: string, headers: Record<string, string> = {}) {
  return oracle.ask(path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': 'x-a, x-b', ...headers } });
}

test('answers preflights where no OPTIONS route stands', async () => {
  expect(await preflight('/open', 'http://any.example')).toMatchObject({
    status: 204,
    headers: { 'access-control-allow-origin': '*', 'access-control-allow-methods': 'GET,HEAD,PUT,PATCH,POST,DELETE', 'access-control-allow-headers': 'x-a, x-b', 'content-length': '0' },
    body: '',
  });
});

test('answers preflights of paths that have no route at all', async () => {
  expect((await preflight('/open/none', 'http://any.example')).status).toBe(204);
  expect((await oracle.ask('/open/none')).status).toBe(404);
});

test('answers them as a handler of an OPTIONS route', async () => {
  expect((await preflight('/route', 'http://a.example')).headers).toMatchObject({ 'access-control-allow-origin': 'http://a.example', vary: 'Origin, Access-Control-Request-Headers' });
});

test('chooses by origin, request and options', async () => {
  for (const origin of ['http://a.example', 'http://x.b.example']) {
    expect((await preflight('/some', origin)).headers).toMatchObject({ 'access-control-allow-origin': origin, 'access-control-allow-credentials': 'true', 'access-control-max-age': '600' });
  }
  expect((await preflight('/some', 'http://evil.example')).headers).not.toHaveProperty('access-control-allow-origin');
  expect((await preflight('/some', 'http://a.example', { 'x-narrow': '1' })).headers['access-control-allow-methods']).toBe('GET');
});

test('marks what is asked for, and lets the route answer', async () => {
  const answer = await oracle.ask('/some', { method: 'PUT', headers: { origin: 'http://a.example' } });
  expect(answer).toMatchObject({ status: 200, headers: { 'access-control-allow-origin': 'http://a.example', 'access-control-expose-headers': 'X-Total', vary: 'Origin' }, body: '"PUT"' });
});

test('hands its errors to error middleware', async () => {
  expect(await oracle.ask('/refused', { headers: { origin: 'http://a.example' } })).toMatchObject({ status: 500, body: '{"failed":"not from there"}' });
});
