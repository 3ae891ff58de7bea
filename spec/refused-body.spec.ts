import { gzipSync } from 'node:zlib';
import { createServer, type CreateServerOptions, express, HttpError, type NextFunction, type Request, type Response } from 'waypost';
import { LogRecorder, type LogLine, Running } from './support/running';
import { ask, post } from './support/wire';

const running = new Running();

afterEach(() => running.close());

async function refusals(options: CreateServerOptions, send: (port: number) => Promise<{ status: number }>): Promise<[status: number, lines: LogLine[]]> {
  const log = new LogRecorder();
  const app = createServer({ env: 'test', ...options, logging: { logger: log, requestId: true } });
  app.post('/take', (_req, res) => void res.end());
  const { status } = await send(await running.start(app));
  return [status, log.lines.filter(({ level, message }) => level !== 'debug' && !(level === 'info' && message !== 'The request body was refused'))];
}

const LIMITED = { body: { limit: 10 } };
const SECRET = 'a secret of more than thirty-two bytes';

describe('the line of a body that was refused names limit, option and type', () => {
  const cases: [string, CreateServerOptions, (port: number) => Promise<{ status: number }>, object][] = [
    ['by its announced length', LIMITED, (port) => post(port, '/take?q=1', '{"a":"twenty"}'), { status: 413, code: 'BODY_TOO_LARGE', limit: 10, option: 'body.limit', type: 'application/json', length: '14', method: 'POST', url: '/take?q=1' }],
    ['by its length in chunks', LIMITED, (port) => ask(port, '/take', { method: 'POST', headers: { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' }, body: 'twenty bytes of text' }), { status: 413, limit: 10, option: 'body.limit', type: 'text/plain' }],
    ['by its length inflated', LIMITED, (port) => post(port, '/take', gzipSync('"aaaaaaaaaaaaaaaaaaaaaaaa"').subarray(0), 'application/json', { 'content-encoding': 'gzip' }), { status: 413, limit: 10, option: 'body.limit', encoding: 'gzip' }],
    ['by what it inflates to', {}, (port) => post(port, '/take', gzipSync(' '.repeat(900_000)), 'application/json', { 'content-encoding': 'gzip' }), { status: 413, code: 'BODY_TOO_LARGE', limit: expect.any(Number), option: 'body', encoding: 'gzip' }],
    ['by its fields', {}, (port) => post(port, '/take', 'a&'.repeat(1001), 'application/x-www-form-urlencoded'), { status: 413, code: 'TOO_MANY_FIELDS', limit: 1000, option: 'body', type: 'application/x-www-form-urlencoded' }],
    ['by its encoding', {}, (port) => post(port, '/take', 'x', 'application/json', { 'content-encoding': 'compress' }), { status: 415, code: 'UNSUPPORTED_ENCODING', option: 'body', type: 'application/json', encoding: 'compress' }],
    ['by its charset', {}, (port) => post(port, '/take', 'x', 'text/plain; charset=klingon'), { status: 415, code: 'UNSUPPORTED_CHARSET', option: 'body', type: 'text/plain; charset=klingon' }],
    ['by the signature check', { ...LIMITED, security: { requestSignature: { secret: SECRET } } }, (port) => post(port, '/take', '{"a":"twenty"}', 'application/json', { 'Svc-Request-Sig': 'a'.repeat(64), 'X-Timestamp': String(Date.now()) }), { status: 413, limit: 10, option: 'body.limit', type: 'application/json', method: 'POST', url: '/take' }],
  ];

  test.each(cases)('%s', async (_, options, send, fields) => {
    const [status, lines] = await refusals(options, send);
    expect(lines).toEqual([{ level: 'info', message: 'The request body was refused', fields: expect.objectContaining({ ...fields, reqId: expect.any(String) }) }]);
    expect(status).toBe((fields as { status: number }).status);
  });

  test.each([
    ['json({ limit })', express.json({ limit: '1kb' }), '"'.padEnd(2000), {}, { status: 413, limit: 1024, option: 'limit of the parser that the program uses', code: 'entity.too.large' }],
    ['urlencoded', express.urlencoded({ parameterLimit: 2 }), 'a&b&c', { 'content-type': 'application/x-www-form-urlencoded' }, { status: 413, option: 'parameterLimit of the parser that the program uses' }],
    ['json() and an encoding', express.json(), 'x', { 'content-encoding': 'compress' }, { status: 415, option: 'inflate of the parser that the program uses', encoding: 'compress' }],
  ])('by %s of an Express program', async (_, parser, body, headers, fields) => {
    const log = new LogRecorder();
    const app = express({ env: 'production', logging: { logger: log } });
    app.use(parser);
    const { status } = await post(await running.start(app), '/', body, 'application/json', headers);
    expect(status).toBe(fields.status);
    expect(log.lines.filter(({ message }) => message === 'The request body was refused')).toEqual([{ level: 'info', message: 'The request body was refused', fields: expect.objectContaining(fields) }]);
  });
});

test('what the client says of itself is cut to a length', async () => {
  const [, [line]] = await refusals(LIMITED, (port) => post(port, '/take', '{"a":"twenty"}', `application/json; a=${'x'.repeat(5000)}`));
  expect(String(line?.fields['type'])).toHaveLength(200);
});

test('the client is told neither limit nor option', async () => {
  const port = await running.app((app) => app.post('/', (_req, res) => void res.end()), { env: 'production', body: { limit: 12_345 } });
  expect((await post(port, '/', 'x'.repeat(20_000), 'text/plain')).json).toEqual({ error: 'Payload Too Large', message: 'The request body is larger than the limit' });
});

test('an error that error middleware answers is its own affair, and tells it limit and option', async () => {
  const log = new LogRecorder();
  const port = await running.app((app) => {
    app.post('/', (_req, res) => void res.end());
    app.use((error: HttpError, _req: Request, res: Response, _next: NextFunction) => void res.status(error.status).json([error.limit, error.option]));
  }, { ...LIMITED, logging: { logger: log } });
  expect((await post(port, '/', '{"a":"twenty"}')).json).toEqual([10, 'body.limit']);
  expect(log.messages('info')).not.toContain('The request body was refused');
});

test('an error of another status is not logged, and one whose fields cannot be read harms nothing', async () => {
  const log = new LogRecorder();
  const odd = Object.defineProperty(new Error('odd'), 'limit', { get() { throw new Error('unreadable'); } });
  const port = await running.app((app) => {
    app.get('/400', () => { throw new HttpError(400, 'BAD', 'bad'); });
    app.get('/413', () => { throw Object.assign(odd, { status: 413 }); });
  }, { logging: { logger: log } });
  expect([(await ask(port, '/400')).status, (await ask(port, '/413')).status]).toEqual([400, 413]);
  expect(log.messages('info').filter((message) => message === 'The request body was refused')).toHaveLength(1);
});
