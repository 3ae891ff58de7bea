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
