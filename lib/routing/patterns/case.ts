import { late } from '../../packages';

const ASCII = /^[\x00-\x7f]*$/;
/** Text with another case form; a run of capitals is one match, since each call is dear. */
const FOLDABLE_LETTERS = /[A-Z]+|[^\x00-\x7f]/gu;

/** Letters whose only other form is not their lower case: long s, and three with modern forms in Unicode. */
const FOLDED_FORMS: ReadonlyMap<string, string> = new Map([['\u017f', 's'], ['\u1fd3', '\u0390'], ['\u1fe3', '\u03b0'], ['\ufb05', '\ufb06']]);

/** An escape of a character in the source of an expression. */
const ESCAPE = /\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2}))/gi;

/** Folds of UTF-16 units, once they were asked for; 0 before. */
const folds = late(() => new Uint16Array(65_536));

/** Folds letters as an expression with the flag `i` does: guards and routes must agree. Each router may fold the path anew, so a long one is to take no time. */
export function foldLetters(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase();
  const known = folds();
  const units = Buffer.from(text, 'utf16le');
  for (let at = 0; at < units.length; at += 2) {
    const unit = units.readUInt16LE(at);
    units.writeUInt16LE(known[unit] ||= foldUnit(String.fromCharCode(unit)).charCodeAt(0), at);
  }
  return units.toString('utf16le');
}

/** ECMA-262 section 22.2.2.7.3, Canonicalize: by a one-unit upper case that takes no letter into ASCII. The Kelvin sign is no "k". */
function foldUnit(unit: string): string {
  if (ASCII.test(unit)) return unit.toLowerCase();
  const upper = unit.toUpperCase();
  return upper.length > 1 || ASCII.test(upper) ? unit : upper;
}

/**
 * Folds all letters that {@link foldLetters} or any expression takes for one,
 * and a few more. A letter whose lower case has another length ("İ") stays, so
 * that positions hold.
 */
export function foldWidely(text: string): string {
  return ASCII.test(text) ? text.toLowerCase() : text.replace(FOLDABLE_LETTERS, foldLetter);
}

function foldLetter(letter: string): string {
  // By way of upper case, in which "σ" and "ς" are one letter.
  const lower = letter.toUpperCase().toLowerCase();
  return lower.length === letter.length ? lower : letter;
}

/**
 * Letters that only the flags `iu` or `iv` fold, not {@link foldLetters}: the
 * Ångström sign into "å". They are hidden from an expression as escapes. Where
 * its own source names such a letter, the other form is hidden instead.
 */
export class UnicodeCase {
  readonly #named: ReadonlySet<string>;
  readonly #otherForms: ReadonlySet<string>;

  /** @param source The source of the expression. */
  constructor(source: string) {
    const named = Array.from(source.replace(ESCAPE, (_, long: string | undefined, four: string | undefined, two: string | undefined) => String.fromCodePoint(parseInt((long ?? four ?? two) as string, 16))));
    this.#named = new Set(named.map(foldLetters));
    this.#otherForms = new Set(named.map(unicodeFold).filter((form) => form !== undefined).map(foldLetters));
  }

  /** Escapes the letters that the expression would take for others. */
  hide(text: string): string {
    if (ASCII.test(text) && this.#otherForms.size === 0) return text;
    return text.replace(/[^]/gu, (letter) => (this.#isConfused(letter) ? percentEncoded(letter) : letter));
  }

  #isConfused(letter: string): boolean {
    const folded = foldLetters(letter);
    return !this.#named.has(folded) && (this.#otherForms.has(folded) || unicodeFold(letter) !== undefined);
  }
}

/** Unicode's fold of a letter, where {@link foldLetters} keeps the two apart. */
function unicodeFold(letter: string): string | undefined {
  const form = FOLDED_FORMS.get(letter) ?? letter.toLowerCase();
  return form.length === letter.length && foldLetters(form) !== foldLetters(letter) ? form : undefined;
}

function percentEncoded(letter: string): string {
  return Array.from(Buffer.from(letter), (byte) => '%' + byte.toString(16).toUpperCase()).join('');
}
