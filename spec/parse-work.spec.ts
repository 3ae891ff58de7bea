import assert from 'node:assert';
import fc from 'fast-check';
import { parse as parseSecurely } from 'secure-json-parse';
import type { HttpError } from '../lib/errors';
import { parseJson } from '../lib/http/body/json';
import { checkContainers } from '../lib/http/body/json-containers';
import { expectSame } from './support/expect-same';
import { runs } from './support/runs';
import { growth, workOf } from './support/work-meter';

const BIG = '9007199254740993';

/** JSON of about a length, each of another kind of trouble. */
const troubles: Readonly<Record<string, (length: number) => string>> = {
  'nesting': (length) => '['.repeat(length / 2) + ']'.repeat(length / 2),
  'nested objects': (length) => '{"":'.repeat(length / 5) + '0' + '}'.repeat(length / 5),
  'nesting around a big integer': (length) => `${'['.repeat(length / 2)}${BIG}${']'.repeat(length / 2)}`,
  'big integers': (length) => `[${`${BIG},`.repeat(length / 17)}0]`,
  'long integers': (length) => `[${`${'9'.repeat(1000)},`.repeat(length / 1001)}0]`,
  'one that is too long': (length) => '9'.repeat(length + 4301),
  'zeros before it': (length) => `${'0'.repeat(length)}${BIG}`,
  'big integers as keys': (length) => `{${`${BIG}   :0,`.repeat(length / 22)}}`,
  'big integers before spaces': (length) => `[${`${BIG}      ,`.repeat(length / 23)}0]`,
  'digits in strings': (length) => `["${BIG.repeat(length / 16)}",${BIG}]`,
  'a string that does not end': (length) => `[${BIG},"${'a'.repeat(length)}`,
  'escapes': (length) => `["${'\\u0041'.repeat(length / 6)}",${BIG}]`,
  'keys that look forbidden': (length) => `[{"prototype":0},${'{"constructor":{"a":0}},'.repeat(length / 24)}0]`,
  'texts that look forbidden': (length) => `["__proto__",${'"\\"__proto__\\":",'.repeat(length / 17)}0]`,
  'empty arrays': (length) => `["prototype","constructor",${'[],'.repeat(length / 3)}0]`,
  'what breaks off': (length) => `[${'[0],'.repeat(length / 4)}`,
};

/** What parseJson makes of a text, or the message it is refused with. */
function outcome(text: string, bigint: boolean): unknown {
  try {
    return { value: parseJson(text, bigint) };
  } catch (error) {
    return (error as HttpError).message;
  }
}

describe.each(Object.entries(troubles))('%s', (_, make) => {
  test('are parsed in time that grows with their length', () => {
    for (const bigint of [false, true]) expect(growth(make, (text) => outcome(text, bigint), 2048)).toBeLessThan(40);
  });

  test('cost few looks at each character', () => {
    const text = make(16_384);
    expect(workOf(() => outcome(text, true)) / text.length).toBeLessThan(12);
  });
});

describe('how deep a long text nests', () => {
  const SPACE = ' '.repeat(200_000);
  /** What stands in strings is no bracket, whatever escapes end there. */
  const strings = fc.array(fc.constantFrom('[', '{', ']', '}', '\\"', '\\\\', 'x', '\\u005b', '\ud83d\ude00'), { maxLength: 8 }).map((parts) => `"${parts.join('')}"`);
  const opened = fc.array(fc.oneof(fc.constant('['), strings.map((text) => `{${text}:`), strings.map((text) => `[${text},`)), { minLength: 1, maxLength: 5 });

  /** The text of so many levels, which are made of those again and again. */
  function nested(openers: readonly string[], levels: number): string {
    const opens = Array.from({ length: levels }, (_, level) => openers[level % openers.length] as string);
    return opens.join('') + '0' + opens.reverse().map((open) => (open.startsWith('[') ? ']' : '}')).join('');
  }

  test('is bounded by 5,000 levels', () => {
    fc.assert(fc.property(opened, fc.integer({ min: 0, max: 3 }), (openers, more) => {
      const text = nested(openers, 4999 + more) + SPACE;
      JSON.parse(text);
      const at = openers.join('').length * Math.floor(5000 / openers.length) + openers.slice(0, 5000 % openers.length).join('').length;
      const found = outcome(text, false);
      if (more <= 1) expectSame(typeof found, 'object', text.slice(0, 100));
      else expectSame(found as string, `The JSON of the request body nests more than 5000 levels, at position ${at}`, text.slice(0, 100));
      // What is short costs little, and what stands beside one another is no depth.
      expectSame(typeof outcome(text.trim(), false), text.trim().length > 200_000 && more > 1 ? 'string' : 'object');
      expectSame(typeof outcome(`[${Array.from({ length: 50 }, () => nested(openers, 100)).join(',')}${SPACE}]`, false), 'object');
    }), { numRuns: runs(20) });
  });

  function checked(text: string): void {
    try {
      checkContainers(text, text.length / 3);
    } catch {
      // Refused: it is the work that counts.
    }
  }

  test('is looked for in one pass, whatever does not end', () => {
    for (const make of [
      (length: number) => '['.repeat(length), (length: number) => `["${'\\"'.repeat(length / 2)}`, (length: number) => `["${'\\'.repeat(length)}"]`, (length: number) => '""'.repeat(length / 2), (length: number) => '[]'.repeat(length / 2),
    ]) expect(workOf(() => checked(make(300_000))) / 300_000).toBeLessThan(6);
  });
});

test('one word that is no key by itself has no text walked through', () => {
  const walks = (text: string): number => {
    const keys = jest.spyOn(Object, 'keys');
    outcome(text, false);
    const { length } = keys.mock.calls;
    keys.mockRestore();
    return length;
  };
  expect(walks('["prototype",{"a":{}},"a prototype of __proto__"]')).toBe(0);
  expect(walks('["prototype",{"a":{}},"constructor"]')).toBe(2);
});

describe('one pass says what two would', () => {
  const pieces = fc.constantFrom(
    BIG, BIG, `-${BIG}`, `0${BIG}`, '-', '00', '1', '.5', 'e5', `${BIG}.5`, `${BIG}e1`, `+${BIG}`, '{', '}', '[', ']', ',', ':', ' ', '\n', '"', '""', '"a"', '\\', '\\u0041', 'true', 'null', 'x', '{"a":', `{${BIG}:`, `{"${BIG}":`, '"constructor":', '"prototype":', '"__proto__":', '"\\u005f_proto__":', '{}', '\ufeff',
  );
  const json = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, fc.constantFrom(BIG, `-${BIG}`, '1', '-0.5e3', '"x"', `"${BIG}"`, 'null', '9007199254740991', '123456789012345678901234567890'), tie('list'), tie('object')),
    list: fc.array(tie('value') as fc.Arbitrary<string>, { maxLength: 4 }).map((each) => `[${each.join(' ,')}]`),
    object: fc.array(fc.tuple(fc.constantFrom('a', 'b', '__proto__', '\\u005f_proto__', 'constructor', 'prototype', 'pro\\u0074otype', BIG), tie('value') as fc.Arbitrary<string>), { maxLength: 4 }).map((each) => `{${each.map(([key, value]) => `"${key}" : ${value}`).join(',')}}`),
  })).value as fc.Arbitrary<string>;

  function refuses(text: string): boolean {
    try {
      JSON.parse(text);
      return false;
    } catch {
      return true;
    }
  }

  /** Refused as by JSON.parse and secure-json-parse; else equal, but for big integers. */
  function compare(text: string): void {
    let value: unknown;
    let forbidden = false;
    try {
      value = JSON.parse(text);
      try {
        parseSecurely(text);
      } catch {
        forbidden = true;
      }
    } catch {
      for (const bigint of [false, true]) {
        const said = String(outcome(text, bigint));
        expectSame(said.startsWith('The request body is not valid JSON'), true, said);
        const at = Number(/at position (\d+)$/.exec(said)?.[1] ?? 0);
        // What stands before the fault is none of its own making: JSON.parse finds it there too, whatever follows.
        expectSame(refuses(text.slice(0, at + 1)), true, said);
        expectSame(said.endsWith('it is empty'), text.trim() === '', said);
      }
      return;
    }
    if (forbidden) {
      for (const bigint of [false, true]) expectSame(outcome(text, bigint) as string, 'The request body holds a forbidden key');
      return;
    }
    // Not by Jest, which asks a value for its constructor.
    assert.deepStrictEqual(outcome(text, false), { value });
    const parsed = outcome(text, true);
    expectSame(typeof parsed, 'object');
    expectSame(JSON.stringify(parsed, (_, each: unknown) => (typeof each === 'bigint' ? Number(each) : each)), JSON.stringify({ value }));
  }

  test('whatever text', () => {
    fc.assert(fc.property(fc.array(pieces, { maxLength: 12 }).map((each) => each.join('')), compare), { numRuns: runs(1500) });
  });

  test('whatever JSON, and what is nearly JSON', () => {
    fc.assert(fc.property(json, fc.nat(), fc.option(pieces, { nil: '' }), (text, at, piece) => {
      compare(text);
      compare(text.slice(0, at % (text.length + 1)) + piece + text.slice(at % (text.length + 1)));
    }), { numRuns: 1500 });
  });

  test.each([
    [`{${BIG}:1}`, 'The request body is not valid JSON: unexpected character at position 1'],
    [`[0${BIG}]`, 'The request body is not valid JSON: unexpected character at position 2'],
    [`[-0${BIG}]`, 'The request body is not valid JSON: unexpected character at position 3'],
    [`["${BIG}`, 'The request body is not valid JSON: it ends too early, at position 18'],
    [`[${'9'.repeat(4301)}`, 'The request body is not valid JSON: it ends too early, at position 4302'],
    [`[${'9'.repeat(4301)}]`, 'The request body holds an integer of 4301 digits at position 1: at most 4300 are taken, send it as a string'],
    [`[{"__proto__":1},${BIG}]`, 'The request body holds a forbidden key'],
  ])('%#', (text, message) => {
    expect(outcome(text, true)).toBe(message);
  });
});
