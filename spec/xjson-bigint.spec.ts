import fc from 'fast-check';
import type { Handler } from 'waypost';
import { parseJson } from '../lib/http/body/json';
import { Running } from './support/running';
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
