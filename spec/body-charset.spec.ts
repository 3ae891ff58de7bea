import bodyParser from 'body-parser';
import express from 'express';
import { Running } from './support/running';
import { post } from './support/wire';

const running = new Running();

afterEach(() => running.close());

const MARKS = { none: '', mark: '\ufeff' } as const;
const TEXTS = ['{"a":1}', '{"name":"J\u00f6rg \u6f22\u5b57 \ud83d\ude00"}', '"\u6f22"', '7', '', `["${'\u6f22'.repeat(200)}"]`, '\n \u3000x'];

function littleEndian(text: string): Buffer {
  return Buffer.from(text, 'utf16le');
}

function bigEndian(text: string): Buffer {
  return littleEndian(text).swap16();
}

/** An Express program with body-parser, and ours, which answer what they read. */
function sides(): Promise<readonly [own: number, oracle: number]> {
  const theirs = express();
  theirs.post('/', bodyParser.json({ strict: false }), bodyParser.text({ type: 'text/*' }), (req, res) => void res.json({ body: (req.body as unknown) ?? null }));
  theirs.use(((error: { status: number }, _req, res, _next) => void res.status(error.status).json({})) satisfies express.ErrorRequestHandler);
  return Promise.all([running.app((app) => app.post('/', (req, res) => res.json({ body: req.body ?? null }))), running.serve(theirs as never)]);
}

describe.each(['utf-16', 'UTF-16', 'utf-16le', 'utf-16be'])('charset=%s', (charset) => {
  test.each([['application/json', 'none'], ['application/json', 'mark'], ['text/plain', 'none'], ['text/plain', 'mark']] as const)('%s, byte order mark: %s', async (type, mark) => {
    const [own, oracle] = await sides();
    for (const encode of [littleEndian, bigEndian]) {
      // Nothing at all body-parser takes for an empty object, and waypost for no body.
      for (const text of TEXTS.filter((each) => each !== '' || mark === 'mark')) {
        const bytes = encode(MARKS[mark] + text);
        const [ours, theirs] = await Promise.all([own, oracle].map((port) => post(port, '/', bytes, `${type}; charset=${charset}`)));
        if (type === 'application/json' && text === '') {
          expect(ours?.status).toBe(400);
          continue;
        }
        expect(ours?.status).toBe(theirs?.status);
        if (ours?.status === 200) expect(ours.json).toEqual(theirs?.json);
      }
    }
  });
});

test('a form in UTF-16 goes by the mark too', async () => {
  const [own] = await sides();
  for (const encode of [littleEndian, bigEndian]) {
    const answer = await post(own, '/', encode('\ufeffa=\u6f22&b=1'), 'application/x-www-form-urlencoded; charset=utf-16');
    expect(answer.json).toEqual({ body: { a: '\u6f22', b: '1' } });
  }
});

test('a form in ISO-8859-1 is decoded as body-parser does it, escaped or not', async () => {
  const theirs = express().use(bodyParser.urlencoded({ extended: false }));
  theirs.post('/', (req, res) => void res.json({ body: req.body as unknown }));
  const [own, oracle] = await Promise.all([running.app((app) => app.post('/', (req, res) => res.json({ body: req.body as unknown }))), running.serve(theirs as never)]);
  // Those of 0x80 to 0x9f are windows-1252 by the Encoding Standard's labels.
  const codes = Array.from({ length: 0x100 }, (_, code) => code).filter((code) => code > 0 && (code < 0x80 || code > 0x9f));
  const escaped = codes.map((code) => `n${code}=a%${code.toString(16).padStart(2, '0')}+b`).join('&');
  const raw = codes.filter((code) => code > 0x9f).map((code) => `${String.fromCharCode(code)}=+${String.fromCharCode(code)}%E4%4`).join('&');
  for (const form of [escaped, raw, 'a=%C3%A4&b=%&c=%zz&d=%2B+%26', 'a=1&a=%E4']) {
    const answers = await Promise.all([own, oracle].map((port) => post(port, '/', Buffer.from(form, 'latin1'), 'application/x-www-form-urlencoded; charset=ISO-8859-1')));
    expect(answers[0]?.status).toBe(200);
    expect(answers[0]?.json).toEqual(answers[1]?.json);
  }
});

test.each([
  ['windows-1252', 'a=%80&b=%E4', { a: '€', b: 'ä' }],
  ['shift_jis', 'a=%83a&b=%83%41', { a: '\u30c2', b: '\u30a2' }],
  ['utf-8', 'a=%C3%A4', { a: 'ä' }],
])('the escapes of a form are bytes of its charset: %s', async (charset, form, body) => {
  const [own] = await sides();
  expect((await post(own, '/', form, `application/x-www-form-urlencoded; charset=${charset}`)).json).toEqual({ body });
});
