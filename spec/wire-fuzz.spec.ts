import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { type Application, createServer, type Request, signRequest } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { runs } from './support/runs';
import { ask, Wire } from './support/wire';

const SECRET = 'the secret of the fuzzing, of thirty-two bytes';
const running = new Running();
const log = new LogRecorder();
let port = 0;

/** A call of a handler, with what the request was received as. */
interface Call {
  readonly req: Request;
  readonly signed: boolean;
  readonly method: string;
  readonly url: string;
  readonly body: Buffer;
}

const calls: Call[] = [];

beforeAll(async () => {
  const app: Application = createServer({ env: 'test', logging: { logger: log }, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/signed/**'] } } } });
  const note = (signed: boolean) => (req: Request): void => void calls.push({ req, signed, method: req.method, url: req.originalUrl, body: req.rawBody ?? Buffer.alloc(0) });
  const [signed, open] = [note(true), note(false)];
  app.all('/signed/**', (req, res) => {
    signed(req as Request);
    res.json({ passed: true });
  });
  app.all('/open/:name', (req, res) => {
    open(req as Request);
    res.json({ name: req.params.name, query: req.query, body: req.body as unknown });
  });
  port = await running.start(app);
});

afterAll(() => running.close());

/** What stands against a signature, worked out by hand from what the handler was given. */
function isSigned({ req, method, url, body }: Call): boolean {
  const timestamp = String(req.headers['x-timestamp']);
  const expected = createHmac('sha256', SECRET).update(method + url).update(body).update(timestamp).digest('hex');
  return req.headers['svc-request-sig'] === expected && /^\d{13}$/.test(timestamp) && Math.abs(Date.now() - Number(timestamp)) < 300_000;
}

/** Sends the bytes and ends; whatever they are, the server closes, no handler meets a request twice, and none that is signed meets one without. */
async function attack(bytes: Uint8Array): Promise<string> {
  calls.length = 0;
  const wire = await Wire.open(port);
  wire.write(bytes);
  wire.finish();
  await wire.end;
  expect(new Set(calls.map(({ req }) => req)).size).toBe(calls.length);
  for (const call of calls) expect([call.url, !call.signed || isSigned(call)]).toEqual([call.url, true]);
  // Answers, or nothing.
  expect(wire.text).toMatch(/^(?:HTTP\/1\.1 \d{3} |$)/);
  return wire.text;
}

async function isWell(): Promise<void> {
  expect((await ask(port, '/open/a?b=c')).json).toEqual({ name: 'a', query: { b: 'c' } });
  expect(log.lines.filter(({ level }) => level === 'error' || level === 'fatal')).toEqual([]);
}

function signedRequest(method: string, url: string, body: string): string {
  const headers = signRequest({ secret: SECRET, method, url, body });
  const fields = Object.entries({ ...headers, 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) });
  return `${method} ${url} HTTP/1.1\r\nHost: localhost\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`;
}

const templates: readonly (() => string)[] = [
  () => 'GET /open/name?a=1&b[c]=2 HTTP/1.1\r\nHost: localhost\r\nAccept: text/html;q=0.5, */*\r\nRange: bytes=0-1\r\nIf-None-Match: W/"a", *\r\nCookie: a=b; c="d"\r\n\r\n',
  () => 'POST /open/name HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{"a":[1,"b"]}GET /open/next HTTP/1.1\r\nHost: localhost\r\n\r\n',
  () => 'POST /open/name HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na=b&c\r\n2;x=y\r\n=d\r\n0\r\nTrailer: x\r\n\r\nGET /open/next HTTP/1.1\r\nHost: localhost\r\n\r\n',
  () => signedRequest('POST', '/signed/thing?x=1', '{"pay":100}'),
  () => signedRequest('GET', '/signed/thing', '') + signedRequest('PUT', '/signed/other', '[1]'),
];

type Change = (bytes: Buffer, at: number, byte: number) => Buffer;

const splice = (bytes: Buffer, at: number, removed: number, added: string | Buffer): Buffer => Buffer.concat([bytes.subarray(0, at), Buffer.from(added as string, 'latin1'), bytes.subarray(at + removed)]);
const lineAt = (bytes: Buffer, at: number): [number, number] => {
  const start = bytes.lastIndexOf('\n', at) + 1;
  const end = bytes.indexOf('\n', start);
  return [start, end === -1 ? bytes.length : end + 1];
};
const PIECES = ['\r\n', '\n', '\r', '\0', ' ', '\t', ':', ',', '%', '%2f', '../', '//', 'HTTP/1.1', 'Content-Length: 3\r\n', 'Transfer-Encoding: chunked\r\n', 'Transfer-Encoding: gzip, chunked\r\n', 'Host: other\r\n', 'X-Timestamp: 1700000000000\r\n', `Svc-Request-Sig: ${'a'.repeat(64)}\r\n`, 'Connection: close\r\n', 'Upgrade: x\r\nConnection: upgrade\r\n', 'Expect: 100-continue\r\n', 'Content-Type: text/plain; charset=x\r\n', 'Content-Encoding: gzip\r\n', '{"__proto__":{}}', '\xff\xfe', '9'.repeat(30)];

const changes: readonly Change[] = [
  (bytes, at, byte) => splice(bytes, at, 1, Buffer.from([byte])),
  (bytes, at) => splice(bytes, at, 1, ''),
  (bytes, at, byte) => splice(bytes, at, 0, Buffer.from([byte])),
  (bytes, at, byte) => splice(bytes, at, 0, PIECES[byte % PIECES.length] as string),
  (bytes, at) => bytes.subarray(0, at),
  (bytes, at) => Buffer.concat([bytes, bytes.subarray(at)]),
  (bytes, at) => splice(bytes, lineAt(bytes, at)[0], 0, bytes.subarray(...lineAt(bytes, at))),
  (bytes, at) => splice(bytes, lineAt(bytes, at)[0], lineAt(bytes, at)[1] - lineAt(bytes, at)[0], ''),
  (bytes, at, byte) => splice(bytes, lineAt(bytes, at)[0], 0, PIECES[byte % PIECES.length] as string),
];

const changed = fc.array(fc.tuple(fc.constantFrom(...changes), fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 4 });

test('requests with bytes changed, left out, doubled and put in are answered or refused, and nothing else', async () => {
  let reached = 0;
  await fc.assert(fc.asyncProperty(fc.constantFrom(...templates), changed, async (template, steps) => {
    await attack(steps.reduce<Buffer>((bytes, [change, at, byte]) => change(bytes, at % (bytes.length + 1), byte), Buffer.from(template(), 'latin1')));
    reached += calls.length;
  }), { numRuns: runs(600) });
  expect(reached).toBeGreaterThan(runs(50));
  await isWell();
});

test('bytes of any kind are answered or refused, and nothing else', async () => {
  await fc.assert(fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
    await attack(bytes);
    expect(calls).toEqual([]);
  }), { numRuns: runs(150) });
  await isWell();
});

describe('the fields of a signature', () => {
  const hex = fc.stringMatching(/^[0-9a-f]{64}$/);
  const oddities: readonly ((value: string, at: number) => string)[] = [
    (value) => value.toUpperCase(),
    (value) => ` ${value}`, (value) => `${value} `, (value) => `${value}\t`, (value) => `"${value}"`, (value) => `${value},${value}`, (value) => `${value};`, (value) => `0x${value}`, (value) => `sha256=${value}`, (value) => `+${value}`, (value) => `0${value}`, (value) => `${value}0`,
    (value) => value.slice(1), () => '', (value) => `${value}\r\n ${value}`, (value) => `\u00a0${value}`, (value) => `${value}\xff`,
    (value, at) => value.slice(0, at % value.length) + ((value[at % value.length] as string) === '0' ? '1' : '0') + value.slice((at % value.length) + 1),
    (value) => String(Number(value)), (value) => `${value}.0`, (value) => `${value}e0`, (value) => value.replace(/\d/, (digit) => String.fromCharCode(0x660 + Number(digit)).slice(0, 1)),
  ];
  const field = fc.oneof(
    { weight: 3, arbitrary: fc.tuple(fc.constantFrom(...oddities), fc.nat()).map(([odd, at]) => (value: string) => odd(value, at)) },
    { weight: 1, arbitrary: fc.constant((value: string) => value) },
    { weight: 1, arbitrary: hex.map((other) => () => other) },
    { weight: 1, arbitrary: fc.string({ maxLength: 70 }).map((text) => () => text.replace(/[\r\n]/g, '')) },
  );

  test('let nothing pass that they do not sign, whatever stands in them and however often', async () => {
    let passed = 0;
    await fc.assert(fc.asyncProperty(field, field, fc.boolean(), fc.boolean(), fc.constantFrom('', 'x', '{"a":1}'), async (signature, timestamp, twice, swapped, body) => {
      const headers = signRequest({ secret: SECRET, method: 'POST', url: '/signed/x', body });
      const lines = [`Svc-Request-Sig: ${signature(headers['Svc-Request-Sig'] as string)}`, `X-Timestamp: ${timestamp(headers['X-Timestamp'] as string)}`];
      if (twice) lines.push(`Svc-Request-Sig: ${headers['Svc-Request-Sig'] as string}`, `X-Timestamp: ${headers['X-Timestamp'] as string}`);
      if (swapped) lines.reverse();
      const text = await attack(Buffer.from(`POST /signed/x HTTP/1.1\r\nHost: localhost\r\n${lines.join('\r\n')}\r\nContent-Length: ${body.length}\r\n\r\n${body}`, 'latin1'));
      passed += calls.length;
      expect(text).toMatch(calls.length === 1 ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 40[01] /);
    }), { numRuns: runs(400) });
    // What is only padded with white space, which is none of a field's value, passes.
    expect(passed).toBeGreaterThan(0);
    await isWell();
  });
});
