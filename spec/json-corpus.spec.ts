import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Running } from './support/running';
import { Wire } from './support/wire';

/** nst/JSONTestSuite: what its files are named for is whether a parser must take them (y), must refuse them (n), or may do either (i). */
const SUITE = join(__dirname, 'fixtures/json-test-suite/test_parsing');
const FILES = readdirSync(SUITE);
/** A request with such a body is one without a body. */
const EMPTY = 'n_structure_no_data.json';

const running = new Running();
let port = 0;
let calls = 0;

beforeAll(async () => {
  port = await running.app((app) => {
    app.post('/', (req, res) => {
      calls++;
      res.json({ value: req.body });
    });
  });
});

afterAll(() => running.close());

/** Sends the bytes as the body of a request, in two packets, and reads the answer. */
async function send(bytes: Buffer): Promise<{ status: number; body: string }> {
  const wire = await Wire.open(port);
  wire.write(`POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${bytes.length}\r\n\r\n`);
  await wire.flushed();
  wire.write(bytes);
  await wire.end;
  const [head = '', body = ''] = wire.text.split('\r\n\r\n', 2);
  return { status: Number(head.slice(9, 12)), body: Buffer.from(body, 'latin1').toString() };
}

/** What JSON.parse makes of the bytes. */
function oracle(bytes: Buffer): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(new TextDecoder().decode(bytes)) as unknown };
  } catch {
    return undefined;
  }
}

test.each([['y', 95], ['n', 188], ['i', 35]])('the corpus has its files: %s', (kind, count) => {
  expect(FILES.filter((file) => file.startsWith(kind))).toHaveLength(count);
});

test('a body of no bytes is none', async () => {
  expect(await send(readFileSync(join(SUITE, EMPTY)))).toEqual({ status: 200, body: '{}' });
});

test.each(FILES.filter((file) => file !== EMPTY))('%s', async (file) => {
  const bytes = readFileSync(join(SUITE, file));
  const before = calls;
  const { status, body } = await send(bytes);
  const parsed = oracle(bytes);
  const taken = file.startsWith('y') || (file.startsWith('i') && parsed !== undefined);
  expect({ status, calls: calls - before }).toEqual({ status: taken ? 200 : 400, calls: taken ? 1 : 0 });
  if (taken) expect(body).toBe(JSON.stringify(parsed));
  else expect(JSON.parse(body)).toEqual({ error: 'Bad Request', message: expect.stringContaining('JSON') });
});
