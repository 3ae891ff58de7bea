import fc from 'fast-check';
import jsonBigInt = require('json-bigint');
import type { Handler } from 'waypost';
import { parseJson } from '../lib/http/body/json';
import { anyCharacter } from './support/any-character';
import { Running } from './support/running';
import { runs } from './support/runs';
import { post } from './support/wire';

const running = new Running();

afterEach(() => running.close());

const echo: Handler = (req, res) => res.xJson(req.body);

function serve(): Promise<number> {
  return running.app((app) => app.post('/', echo), { body: { bigint: true } });
}

describe('big integers, inward by body.bigint and outward by xJson', () => {
  it('come back digit by digit, as strings', async () => {
    const port = await serve();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.bigInt({ min: -(10n ** 60n), max: 10n ** 60n }), { minLength: 1, maxLength: 5 }), async (values) => {
        const text = `[${values.join(' , ')}]`;
        const expected = values.map((value) => (Number.isSafeInteger(Number(value)) ? Number(value) : String(value)));
        expect((await post(port, '/', text)).json).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  it('are taken up to 4,300 digits, the sign not counted', async () => {
    const port = await serve();
    const digits = '9'.repeat(4300);
    expect((await post(port, '/', `{"a":[${digits},-${digits}]}`)).json).toEqual({ a: [digits, `-${digits}`] });
  });

  it.each([
    ['one more', `[1,${'9'.repeat(4301)}]`, 'The request body holds an integer of 4301 digits at position 3: at most 4300 are taken, send it as a string'],
    ['one more, negative', `-1${'0'.repeat(4300)}`, 'The request body holds an integer of 4301 digits at position 0: at most 4300 are taken, send it as a string'],
    ['a megabyte', `{"a":${'7'.repeat(1_000_000)}}`, 'The request body holds an integer of 1000000 digits at position 5: at most 4300 are taken, send it as a string'],
  ])('are refused with 400: %s', async (_name, text, message) => {
    const answer = await post(await serve(), '/', text);
    expect(answer.status).toBe(400);
    expect(answer.json).toMatchObject({ message });
  });

  it('are not what strings, decimals and exponents are, of any length', () => {
    const digits = '1'.repeat(5000);
    for (const text of [`"${digits}"`, `0.${digits}`, `${digits}.5`, `${digits}e-4990`, `-${digits}E1`]) {
      expect(parseJson(`[${text}]`, true)).toEqual(JSON.parse(`[${text}]`));
    }
  });

  it('are numbers of any length where body.bigint is off', () => {
    expect(parseJson('9'.repeat(5000), false)).toBe(Infinity);
  });
});

describe('json-bigint, which parses and writes big integers its own way', () => {
  const peer = jsonBigInt({ useNativeBigInt: true });
  // json-bigint refuses "constructor", and integers that no double comes near; decimals of more than 15 characters it fails on.
  const name = fc.string({ unit: anyCharacter, maxLength: 8 }).filter((given) => given !== 'constructor' && given !== '__proto__');
  const integer = fc.tuple(fc.constantFrom('', '-'), fc.integer({ min: 1, max: 9 }), fc.array(fc.integer({ min: 0, max: 9 }), { maxLength: 300 })).map(([sign, first, more]) => `${sign}${first}${more.join('')}`);
  const number = fc.oneof(
    integer,
    fc.bigInt({ min: -(2n ** 54n), max: 2n ** 54n }).map(String),
    fc.integer({ min: -9_999_999, max: 9_999_999 }).map((units) => String(units / 1000)),
    fc.constantFrom('0', '-0', '1e20', '1E-5', '9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740991', '-9007199254740993'),
  );
  const space = fc.constantFrom('', ' ', '\n\t ');

  /** Any JSON text in which the two mean the same. */
  const body = fc.letrec<{ node: string }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      { weight: 4, arbitrary: number },
      fc.string({ unit: anyCharacter, maxLength: 30 }).map((text) => JSON.stringify(text)),
      integer.map((digits) => `"${digits}"`),
      fc.constantFrom('true', 'false', 'null'),
      fc.tuple(fc.array(tie('node'), { maxLength: 5 }), space).map(([items, gap]) => `[${gap}${items.join(`${gap},`)}${gap}]`),
      fc.tuple(fc.array(fc.tuple(name, tie('node')), { maxLength: 5 }), space).map(([fields, gap]) => `{${gap}${fields.map(([key, value]) => `${JSON.stringify(key)}${gap}:${gap}${value}`).join(`${gap},`)}${gap}}`),
    ),
  })).node;

  /** Both ways to hold a safe integer of 16 digits as a number, and objects with a prototype. */
  function settled(value: unknown): unknown {
    if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
    if (typeof value !== 'object' || value === null) return value;
    return Array.isArray(value) ? value.map(settled) : Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, settled(inner)]));
  }

  /** What the client gets back for what it has sent: a number beyond 2^53 is one of those integers, unless it is written with an exponent. */
  function returned(value: unknown): unknown {
    const isBig = (inner: unknown): boolean => typeof inner === 'bigint' || (Number.isInteger(inner) && !Number.isSafeInteger(inner) && !String(inner).includes('e'));
    return JSON.parse(JSON.stringify(value, (_key, inner: unknown) => (isBig(inner) ? String(inner) : inner)));
  }

  it('reads what body.bigint reads', () => {
    fc.assert(fc.property(body, (text) => expect(parseJson(text, true)).toEqual(settled(peer.parse(text)))), { numRuns: runs(500) });
  });

  it('sends bare integers that the server reads, and reads what res.xJson answers', async () => {
    const port = await serve();
    await fc.assert(
      fc.asyncProperty(fc.array(body, { minLength: 1, maxLength: 4 }), async (texts) => {
        const data = settled(texts.map((text) => peer.parse(text) as unknown));
        const sent = peer.stringify(data);
        const { body: answer, status } = await post(port, '/', sent);
        expect({ sent, status }).toEqual({ sent, status: 200 });
        expect(settled(peer.parse(answer))).toEqual(returned(data));
      }),
      { numRuns: runs(40) },
    );
  });
});
