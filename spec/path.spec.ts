import fc from 'fast-check';
import { Path } from '../lib/routing/patterns/path';
import { decodeSegment, decodeStatic } from '../lib/routing/patterns/decoding';
import { anyCharacter } from './support/any-character';
import { expectSame } from './support/expect-same';
import { runs } from './support/runs';

const RULES = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };

/** Segments made of bytes as they are likely to go wrong: of each place in UTF-8, and beside its bounds. */
const byte = fc.oneof(fc.constantFrom(0x00, 0x25, 0x2f, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xff), fc.nat(255));
const escape = fc.tuple(byte, fc.boolean()).map(([value, upper]) => {
  const digits = value.toString(16).padStart(2, '0');
  return `%${upper ? digits.toUpperCase() : digits}`;
});
const encoded = fc.string({ unit: anyCharacter, maxLength: 3 }).map((text) => encodeURIComponent(text));
const segment = fc.array(fc.oneof(escape, encoded, fc.constantFrom('%', '%2', '%zz', '%4g', 'a', 'ü', '%25', '%c3%a9')), { maxLength: 6 }).map((parts) => parts.join(''));

/** By the engine's own decoder, which throws for what is malformed. */
function oracle(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

describe('percent-encoding', () => {
  test('is malformed where decodeURIComponent throws, and decoded as it decodes', () => {
    let malformed = 0;
    fc.assert(fc.property(segment, (text) => {
      const expected = oracle(text);
      if (expected === undefined) malformed++;
      expectSame(decodeSegment(text), expected);
      if (expected === undefined) expectSame(decodeStatic(text), text);
      else expectSame(oracle(decodeStatic(text)), expected);
    }), { numRuns: runs(2_000) });
    expect(malformed).toBeGreaterThan(runs(100));
  });

  test('every sequence of two bytes, and of three that begin a character', () => {
    for (let first = 0; first < 0x100; first++) {
      for (let second = 0; second < 0x100; second++) {
        const text = `%${hex(first)}%${hex(second)}`;
        expectSame(decodeSegment(text), oracle(text), text);
        if (first >= 0xe0 && second >= 0x7f && second <= 0xc0) {
          const longer = [`${text}%80`, `${text}%bf`, `${text}%80%80`, `${text}%bf%bf`, `${text}%c0`];
          for (const one of longer) expectSame(decodeSegment(one), oracle(one), one);
        }
      }
    }
  });

  test('of thousands of malformed segments raises no exception: each would take microseconds of everybody', () => {
    const thrown: string[] = [];
    const watched = (['decodeURI', 'decodeURIComponent'] as const).map((name) => {
      const decode = globalThis[name];
      return jest.spyOn(globalThis, name).mockImplementation((text) => {
        try {
          return decode(text);
        } catch (error) {
          thrown.push(text);
          throw error;
        }
      });
    });
    try {
      const path = new Path('/%ff'.repeat(4000), RULES);
      expect(path.text).toHaveLength(4000);
      for (const raw of path.raw) expect(decodeSegment(raw)).toBeUndefined();
      expect(decodeSegment('%41')).toBe('A');
      expect(thrown).toEqual([]);
    } finally {
      for (const spy of watched) spy.mockRestore();
    }
  });
});

function hex(value: number): string {
  return value.toString(16).padStart(2, '0');
}
