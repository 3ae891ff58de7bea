import { request } from 'node:http';
import { z } from 'zod';
import { type Application, createServer, type CreateServerOptions, express, HttpError } from 'waypost';
import { LogRecorder, Running } from './support/running';

const running = new Running();

afterEach(() => running.close());

const SECRET = 'a secret of thirty-two bytes or more';

function register(app: Application): void {
  app.get('/open/gone', () => { throw new HttpError(410, 'GONE', 'It is gone', { type: 'https://example.com/gone', members: { since: 2020, status: 1 } }); });
  app.get('/open/inside', () => { throw new HttpError(500, 'INSIDE', 'the password', { type: 'https://example.com/inside', members: { secret: 1 } }); });
  app.get('/open/broken', () => { throw new Error('the password'); });
  app.get('/open/cycle', (_req, res) => { const data: { self?: unknown } = {}; data.self = data; res.json(data); });
  app.get('/open/unwritable', () => { throw new HttpError(409, 'BIG', 'Too big', { members: { total: 2n } }); });
  app.post('/open/checked', { body: z.object({ n: z.number() }) }, (req, res) => res.json(req.body));
  app.get('/signed', (_req, res) => res.json({}));
}

const OPTIONS: CreateServerOptions = {
  env: 'production', errors: 'problem', routing: { methodNotAllowed: true }, body: { limit: 100 },
  security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { excludeRoutes: ['/open/**'] } } },
};

async function answers(port: number): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  const ask = async (name: string, target: string, init: RequestInit = {}): Promise<void> => {
    const response = await fetch(`http://127.0.0.1:${port}${target}`, init);
    found[name] = [response.status, response.headers.get('content-type'), await response.json()];
  };
  const post = (body: string, type = 'application/json'): RequestInit => ({ method: 'POST', headers: { 'Content-Type': type }, body });
  await ask('none', '/open/none');
  await ask('method', '/open/gone', { method: 'DELETE' });
  await ask('gone', '/open/gone');
  await ask('inside', '/open/inside');
  await ask('broken', '/open/broken');
  await ask('cycle', '/open/cycle');
  await ask('unwritable', '/open/unwritable');
  await ask('unsigned', '/signed');
  await ask('malformed', '/open/checked', post('{"n":'));
  await ask('invalid', '/open/checked', post('{}'));
  await ask('long', '/open/checked', post(`"${'x'.repeat(100)}"`));
  await ask('type', '/open/checked', post('<a/>', 'application/xml'));
  return found;
}

/** The body of the refusal of a request to upgrade. */
function upgrade(port: number): Promise<[type: string | undefined, body: unknown]> {
  return new Promise((done, fail) => {
    request({ port, host: '127.0.0.1', path: '/signed', headers: { Connection: 'Upgrade', Upgrade: 'websocket' } }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk)).on('end', () => done([response.headers['content-type'], JSON.parse(text)]));
    }).on('error', fail).end();
  });
}

const problem = (status: number, title: string, more: object = {}): unknown[] => [status, 'application/problem+json', { type: 'about:blank', title, status, ...more }];
const issues = { errors: [{ in: 'body', path: ['n'], message: 'Invalid input: expected number, received undefined' }] };

test('errors: \'problem\' makes every default answer problem details', async () => {
  const logger = new LogRecorder();
  const app = createServer({ ...OPTIONS, logging: { logger } });
  register(app);
  app.on('upgrade', (_req, socket) => socket.destroy());
  const port = await running.start(app);
  expect(await answers(port)).toEqual({
    none: problem(404, 'Not Found', { detail: 'Cannot GET /open/none' }),
    method: problem(405, 'Method Not Allowed', { detail: 'Cannot DELETE /open/gone' }),
    gone: [410, 'application/problem+json', { type: 'https://example.com/gone', title: 'Gone', status: 410, detail: 'It is gone', since: 2020 }],
    inside: problem(500, 'Internal Server Error'),
    broken: problem(500, 'Internal Server Error'),
    cycle: problem(500, 'Internal Server Error', { detail: 'Unable to serialize response object' }),
    unwritable: problem(409, 'Conflict', { detail: 'Too big' }),
    unsigned: problem(401, 'Unauthorized', { detail: 'Svc-Request-Sig header is required' }),
    malformed: problem(400, 'Bad Request', { detail: 'The request body is not valid JSON: it ends too early, at position 5' }),
    invalid: problem(400, 'Bad Request', { detail: 'The request is not as its route asks: body.n: Invalid input: expected number, received undefined', ...issues }),
    long: problem(413, 'Payload Too Large', { detail: 'The request body is larger than the limit' }),
    type: problem(415, 'Unsupported Media Type', { detail: 'The Content-Type of the request body is not supported' }),
  });
  expect(await upgrade(port)).toEqual(problem(401, 'Unauthorized', { detail: 'Svc-Request-Sig header is required' }).slice(1));
});

test('instance is the id of the request', async () => {
  const port = await running.app(register, { errors: 'problem', logging: { level: 'silent', requestId: true } });
  const response = await fetch(`http://127.0.0.1:${port}/none`, { headers: { 'X-Request-Id': 'abc-1' } });
  expect(await response.json()).toEqual({ type: 'about:blank', title: 'Not Found', status: 404, detail: 'Cannot GET /none', instance: 'abc-1' });
});

test('a function makes the members, and one that fails is logged and left out', async () => {
  const logger = new LogRecorder();
  const app = createServer({
    env: 'production', logging: { logger },
    errors: (problem, req, error) => {
      if (req.url === '/open/broken') throw new Error('the format has failed');
      return { ...problem, type: `https://example.com/${problem.status}`, code: (error as HttpError | undefined)?.code };
    },
  });
  register(app);
  const port = await running.start(app);
  const ask = async (target: string): Promise<unknown> => (await fetch(`http://127.0.0.1:${port}${target}`)).json();
  expect(await ask('/open/gone')).toMatchObject({ type: 'https://example.com/410', code: 'GONE', since: 2020 });
  expect(await ask('/open/inside')).toEqual({ type: 'https://example.com/500', title: 'Internal Server Error', status: 500 });
  expect(await ask('/open/broken')).toEqual({ type: 'about:blank', title: 'Internal Server Error', status: 500 });
  expect(logger.text).toContain('the format has failed');
});

test.each([['createServer', createServer], ['express', express]])('without it the answers of %s are JSON with error and message, and an error\'s own members', async (_, make) => {
  const app = make({ logging: false, env: 'production' });
  register(app);
  const port = await running.start(app);
  const type = 'application/json; charset=utf-8';
  const ask = async (target: string): Promise<unknown> => {
    const response = await fetch(`http://127.0.0.1:${port}${target}`);
    return [response.status, response.headers.get('content-type'), await response.json()];
  };
  expect(await ask('/none')).toEqual([404, type, { error: 'Not Found', message: 'Cannot GET /none' }]);
  expect(await ask('/open/gone')).toEqual([410, type, { error: 'Gone', message: 'It is gone', since: 2020, status: 1 }]);
  expect(await ask('/open/inside')).toEqual([500, type, { error: 'Internal Server Error', message: 'Internal Server Error' }]);
  expect(await ask('/open/unwritable')).toEqual([409, type, { error: 'Conflict', message: 'Too big' }]);
});

test('express() takes it too', async () => {
  const app = express({ errors: 'problem', logging: false, env: 'production' });
  register(app);
  const port = await running.start(app);
  expect(await (await fetch(`http://127.0.0.1:${port}/open/broken`)).json()).toEqual({ type: 'about:blank', title: 'Internal Server Error', status: 500 });
});

test.each(['rfc9457', true, {}])('%j is refused', (errors) => {
  expect(() => createServer({ errors: errors as never })).toThrow(/^errors must be 'problem' or a function \(problem, req, error\), got /);
});
