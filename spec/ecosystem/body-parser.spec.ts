import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import bodyParser from 'body-parser';
import type { Express, Request } from 'express';
import { answerErrors, ExpressOracle } from '../support/express-oracle';

const LARGE = JSON.stringify(['x'.repeat(1_500_000)]);
let oracle: ExpressOracle;

function program(app: Express): void {
  const kept = (req: Request, _res: unknown, bytes: Buffer): void => {
    (req as { kept?: string }).kept = bytes.toString('hex');
    if (bytes.includes('refused')) throw Object.assign(new Error('not that'), { status: 403 });
  };
  app.post('/json', bodyParser.json(), answer);
  app.use('/large', bodyParser.json({ limit: '5mb' }));
  app.post('/large', (req, res) => void res.json((req.body as string[])[0]?.length));
  app.post('/small', bodyParser.json({ limit: 10 }), answer);
  app.post('/loose', bodyParser.json({ strict: false }), answer);
  app.post('/revived', bodyParser.json({ reviver: (_key, value: unknown) => (typeof value === 'number' ? value * 2 : value) }), answer);
  app.post('/typed', bodyParser.json({ type: ['application/vnd.own', 'text/*'] }), answer);
  app.post('/verified', bodyParser.json({ verify: kept as never }), (req, res) => void res.json((req as { kept?: string }).kept));
  app.post('/form', bodyParser.urlencoded({ extended: false }), answer);
  app.post('/rich', bodyParser.urlencoded({ extended: true, parameterLimit: 3 }), answer);
  app.post('/text', bodyParser.text({ defaultCharset: 'latin1' }), answer);
  app.post('/raw', bodyParser.raw({ type: '*/*', limit: '3mb' }), (req, res) => void res.json(Buffer.isBuffer(req.body) ? [req.body.length, req.body.subarray(0, 20).toString('hex')] : null));
  app.post('/both', bodyParser.json(), bodyParser.urlencoded({ extended: false }), bodyParser.text(), answer);
  // As a handler of the route itself, which is where Express programs often have it.
  app.post('/inline', bodyParser.json({ limit: '5mb' }), (req, res) => void res.json((req.body as string[])[0]?.length));
  app.use('/before', bodyParser.json());
  app.post('/before', answer);
  app.use('/before', (req, res) => void res.status(404).json({ unmatched: req.body }));
  app.use(answerErrors);
}

function answer(req: Request, res: { json(data: unknown): unknown }): void {
  res.json({ type: typeof req.body, body: req.body });
}

beforeAll(async () => {
  oracle = await ExpressOracle.start(program);
});

afterAll(() => oracle.close());

const FORM = 'application/x-www-form-urlencoded';

async function body(path: string, text: string | Buffer, type?: string, headers?: Record<string, string>): Promise<unknown> {
  const { status, body: answered } = await oracle.post(path, text, type, headers);
  expect(status).toBe(200);
  return (JSON.parse(answered) as { body: unknown }).body;
}

describe('body-parser makes of a body what it makes of it in Express:', () => {
  test('JSON, in each coding', async () => {
    const text = '{"a":[1,"é",null]}';
    expect(await body('/json', text)).toEqual({ a: [1, 'é', null] });
    expect(await body('/json', gzipSync(text), 'application/json', { 'content-encoding': 'gzip' })).toEqual({ a: [1, 'é', null] });
    expect(await body('/json', deflateSync(text), 'application/json', { 'content-encoding': 'deflate' })).toEqual({ a: [1, 'é', null] });
    expect(await body('/json', brotliCompressSync(text), 'application/json; charset=utf-8', { 'content-encoding': 'br' })).toEqual({ a: [1, 'é', null] });
    expect(await body('/json', Buffer.from(text, 'utf16le'), 'application/json; charset=utf-16')).toEqual({ a: [1, 'é', null] });
  });

  test('JSON over the limit of waypost, under its own', async () => {
    expect((await oracle.post('/large', LARGE)).body).toBe('1500000');
  });

  const refused: { what: string; path: string; text: string; type?: string; headers?: Record<string, string> }[] = [
    { what: 'what is over its own limit', path: '/small', text: '{"a":"0123456789"}' },
    { what: 'malformed JSON', path: '/before', text: '{"a":' },
    { what: 'JSON that is neither object nor array', path: '/json', text: '7' },
    { what: 'an unknown coding', path: '/before', text: '{}', headers: { 'content-encoding': 'compress' } },
    { what: 'a broken coding', path: '/before', text: 'no gzip', headers: { 'content-encoding': 'gzip' } },
    { what: 'an unknown charset', path: '/before', text: '{}', type: 'application/json; charset=x-none' },
    { what: 'what verify throws for', path: '/verified', text: '"refused"' },
    { what: 'too many parameters', path: '/rich', text: 'a=1&b=2&c=3&d=4', type: FORM },
  ];

  test.each(refused)('an error of $what', async ({ path, text, type, headers }) => {
    const { status, body: answered } = await oracle.post(path, text, type, headers);
    expect(status).toBeGreaterThanOrEqual(400);
    expect(JSON.parse(answered)).toHaveProperty('failed');
  });

  test('with its options strict, reviver, type and verify', async () => {
    expect(await body('/loose', '7')).toBe(7);
    expect(await body('/revived', '{"a":[1,2]}')).toEqual({ a: [2, 4] });
    expect(await body('/typed', '{"a":1}', 'application/vnd.own')).toEqual({ a: 1 });
    expect(await body('/typed', '{"a":1}', 'text/plain')).toEqual({ a: 1 });
    expect((await oracle.post('/verified', '{"a" : 1}')).body).toBe(`"${Buffer.from('{"a" : 1}').toString('hex')}"`);
  });

  test('forms, plain and nested', async () => {
    expect(await body('/form', 'a=1&b=2&a=3&c[d]=%C3%A9', FORM)).toEqual({ a: ['1', '3'], b: '2', 'c[d]': 'é' });
    expect(await body('/rich', 'a[b][]=1&a[b][]=2', FORM)).toEqual({ a: { b: ['1', '2'] } });
  });

  test('text in its charset', async () => {
    expect(await body('/text', Buffer.from([0x61, 0xe9]), 'text/plain')).toBe('aé');
  });

  test('bytes of any type, as they were sent and inflated', async () => {
    expect(JSON.parse((await oracle.post('/raw', '{"a":1}')).body)).toEqual([7, Buffer.from('{"a":1}').toString('hex')]);
    expect(JSON.parse((await oracle.post('/raw', Buffer.alloc(2_000_000, 1), 'image/png')).body)).toEqual([2_000_000, '01'.repeat(20)]);
    expect(JSON.parse((await oracle.post('/raw', gzipSync('inflated'), 'text/plain', { 'content-encoding': 'gzip' })).body)).toEqual([8, Buffer.from('inflated').toString('hex')]);
  });

  test('several parsers one after the other, each for its own types', async () => {
    expect(await body('/both', '{"a":1}')).toEqual({ a: 1 });
    expect(await body('/both', 'a=1', FORM)).toEqual({ a: '1' });
    expect(await body('/both', 'plain', 'text/plain')).toBe('plain');
  });

  test('in the route itself, with its own limit and errors', async () => {
    expect((await oracle.post('/inline', LARGE)).body).toBe('1500000');
    expect((await oracle.post('/inline', '{"a":')).status).toBe(400);
  });

  test('as middleware, with a route below it and without', async () => {
    expect(await body('/before', '{"a":1}')).toEqual({ a: 1 });
    expect(await oracle.post('/before/none', '{"a":1}')).toMatchObject({ status: 404, body: '{"unmatched":{"a":1}}' });
  });
});
