import { readdirSync, readFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { isCoded } from '../lib/http/body/transfer-coding';
import { Running } from './support/running';
import { Wire } from './support/wire';

/** The requests that llhttp, Node's parser, is tested with: version 9.4.2 of nodejs/llhttp. */
const FOLDER = join(__dirname, 'fixtures/llhttp');

interface Vector {
  readonly name: string;
  /** What is sent, a character a byte. */
  readonly input: string;
  /** Whether it is for the parser as Node's server has it, which lets nothing malformed in. */
  readonly strict: boolean;
  /** Requests whose heads are well-formed. */
  readonly heads: number;
}

const vectors: Vector[] = readdirSync(FOLDER).filter((file) => file.endsWith('.md')).flatMap((file) => {
  const text = readFileSync(join(FOLDER, file), 'utf8');
  const found = text.matchAll(/<!-- meta=(\{.*\}) -->\n```http\n([^]*?)\n?```\n[^]*?```log\n([^]*?)```/g);
  return [...found].map(([, meta = '', http = '', log = ''], index) => ({
    name: `${file} ${index + 1}`,
    input: bytesOf(http),
    strict: (JSON.parse(meta) as { type: string }).type === 'request',
    heads: log.split('headers complete').length - 1,
  }));
});

/** As the vectors are written: lines end in CRLF, and other line ends and bytes are escaped. */
function bytesOf(http: string): string {
  return http.replace(/\\\n/g, '').replace(/\n/g, '\r\n').replace(/\\([rntf])/g, (_, letter: string) => ({ r: '\r', n: '\n', t: '\t', f: '\f' })[letter] ?? '')
    .replace(/\\x([0-9a-f]+)/gi, (_, digits: string) => String.fromCharCode(parseInt(digits, 16)))
    .replace(/\\([0-7]{1,3})/g, (_, digits: string) => String.fromCharCode(parseInt(digits, 8)))
    .replace(/\$\{'(.*?)'\.repeat\((\d+)\)\}/g, (_, part: string, times: string) => part.repeat(Number(times)));
}

/** A request as a listener meets it, and whether waypost refuses its body's coding, or user information in its target. */
interface Met {
  readonly head: unknown;
  body: string;
  readonly refused: boolean;
}

class Meetings {
  all: Met[] = [];

  readonly listener = (req: IncomingMessage, res: ServerResponse): void => {
    const { method, headers, rawHeaders, httpVersion } = req;
    const met = { head: { method, target: (req as { originalUrl?: string }).originalUrl ?? req.url, headers, rawHeaders, httpVersion }, body: '', refused: isCoded(req) || /^\w+:\/\/[^/]*@/.test(req.url ?? '') };
    this.all.push(met);
    req.setEncoding('latin1').on('data', (text: string) => (met.body += text));
    req.on('error', () => undefined);
    req.on('end', () => res.end(`met ${met.body.length}`));
  };

  /** What was met since this was last asked. */
  take(): Met[] {
    return this.all.splice(0);
  }
}

const running = new Running();
const [plain, own] = [new Meetings(), new Meetings()];
let ports: readonly [plain: number, own: number];

beforeAll(async () => {
  ports = [
    await running.listen(createHttpServer({ requireHostHeader: false }, plain.listener)),
    await running.app((app) => app.use(own.listener), { server: { requireHostHeader: false } }),
  ];
});

afterAll(() => running.close());

/** All that comes back for the bytes, with nothing behind them. */
async function tell(port: number, input: string): Promise<string> {
  const wire = await Wire.open(port);
  wire.write(Buffer.from(input, 'latin1'));
  wire.finish();
  await wire.end;
  return wire.text.replace(/\r\nDate: [^\r]*/g, '');
}

test('there are vectors', () => {
  expect(vectors.length).toBeGreaterThan(120);
  expect(vectors.filter(({ strict }) => strict).length).toBeGreaterThan(80);
});

test.each(vectors)('$name: what is let in is what Node lets in, and nothing behind what is refused', async ({ input, strict, heads }) => {
  const [expected, got] = [await tell(ports[0], input), await tell(ports[1], input)];
  const [met, mine] = [plain.take(), own.take()];
  if (strict) expect(mine.length).toBeLessThanOrEqual(heads);
  const refused = met.findIndex((one) => one.refused);
  if (refused === -1) {
    expect([mine, got]).toEqual([met, expected]);
    return;
  }
  // One is refused, and none behind it is met.
  expect(mine).toEqual(met.slice(0, refused));
  expect(got).toMatch(/HTTP\/1\.1 (?:400 Bad Request|501 Not Implemented)\r\n[^]*$/);
  expect(got.split('HTTP/1.1 ')).toHaveLength(refused + 2);
});
