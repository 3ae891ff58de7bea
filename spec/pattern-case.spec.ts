import { foldLetters, foldWidely, UnicodeCase } from '../lib/routing/patterns/case';
import { expectSame } from './support/expect-same';
import { workOf } from './support/work-meter';

/** Every letter that has another case. */
const CASED = Array.from({ length: 0x1f000 }, (_, code) => String.fromCodePoint(code))
  .filter((letter) => letter.toLowerCase() !== letter || letter.toUpperCase() !== letter);
const ALL = CASED.join('');

/** The source of an expression that takes a letter, by its code units or, with the flag "u", its code point. */
const sourceOf = (letter: string): string => letter.split('').map((unit) => '\\u' + unit.charCodeAt(0).toString(16).padStart(4, '0')).join('');

const takenBy = (letter: string, flags: string): readonly string[] => ALL.match(new RegExp(sourceOf(letter), flags + 'g')) ?? [];

test('letters are one in text of patterns just where they are for an expression that ignores case', () => {
  const alike = new Map<string, string>();
  for (const letter of CASED) alike.set(foldLetters(letter), (alike.get(foldLetters(letter)) ?? '') + letter);
  for (const letter of CASED) expectSame(alike.get(foldLetters(letter)), takenBy(letter, 'i').join(''), letter);
});

test('a text whose letters were folded before is folded by work that is a small multiple of its length', () => {
  const text = 'aé\u00dfŭ'.repeat(2000);
  const folded = foldLetters(text);
  expect(workOf(() => foldLetters(text))).toBeLessThan(3 * text.length);
  expect(folded).toBe('aÉ\u00dfŬ'.repeat(2000));
});

test('an expression with the flag "u" takes of what is left to it no letter that text keeps apart, and every letter that text does not', () => {
  let hidden = 0;
  for (const letter of CASED) {
    const unicodeCase = new UnicodeCase(sourceOf(letter));
    for (const other of takenBy(letter, 'iu')) {
      const isAlike = foldLetters(letter) === foldLetters(other);
      if (!isAlike) hidden++;
      expectSame(unicodeCase.hide(other), isAlike ? other : encodeURIComponent(other).replace(/^\w$/, (ascii) => '%' + ascii.charCodeAt(0).toString(16).toUpperCase()), letter + other);
    }
  }
  expect(hidden).toBeGreaterThan(100);
});

test('an expression that names no letter is shown all in common use', () => {
  const unicodeCase = new UnicodeCase('^/[^/]+$');
  expect(unicodeCase.hide('/Åå ßẞ Σσς Кк éÉ üÜ İı ks 語')).toBe('/Åå ß%E1%BA%9E Σσς Кк éÉ üÜ İı ks 語');
});

test('the scope of signatures takes for one all that text and expressions do', () => {
  for (const letter of CASED) {
    for (const flags of ['i', 'iu']) {
      const shown = new UnicodeCase(sourceOf(letter));
      for (const other of takenBy(letter, flags)) {
        if (flags === 'iu' && shown.hide(other) !== other) continue;
        expectSame(foldWidely(letter), foldWidely(other), letter + other);
      }
    }
  }
});
