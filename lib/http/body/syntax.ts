const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_E = 0x65;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** What may come next: the first of a container may also be its end. */
type Expectation = 'value' | 'first value' | 'key' | 'first key' | 'colon' | 'separator';

/**
 * Where a text stops being JSON (RFC 8259): the index of the first character
 * that no JSON text could have there, the text's length where it breaks off,
 * or -1 where nothing is wrong. V8 names a position in some of its messages
 * only, and quotes the client's text in others.
 */
export function syntaxFault(text: string): number {
  return new SyntaxWalk(text).fault();
}

class SyntaxWalk {
  readonly #text: string;
  /** The closing characters owed. An array, not recursion: nesting is the client's to choose. */
  readonly #owed: number[] = [];
  #at = 0;
  #expected: Expectation = 'value';

  constructor(text: string) {
    this.#text = text;
  }

  fault(): number {
    for (;;) {
      this.#skipSpace();
      if (this.#at === this.#text.length) {
        return this.#expected === 'separator' && this.#owed.length === 0 ? -1 : this.#at;
      }
      if (!this.#step(this.#code())) return this.#at;
    }
  }

  /** Takes one token; false, with `#at` on the offending character, where it cannot stand there. */
  #step(code: number): boolean {
    switch (this.#expected) {
      case 'colon':
        return code === COLON && this.#take('value');
      case 'separator':
        return this.#separator(code);
      case 'first key':
        return code === CLOSE_BRACE ? this.#close() : this.#key(code);
      case 'key':
        return this.#key(code);
      case 'first value':
        return code === CLOSE_BRACKET ? this.#close() : this.#value(code);
      default:
        return this.#value(code);
    }
  }

  #separator(code: number): boolean {
    const owed = this.#owed.at(-1);
    if (owed === undefined) return false;
    if (code === COMMA) return this.#take(owed === CLOSE_BRACE ? 'key' : 'value');
    return code === owed && this.#close();
  }

  #key(code: number): boolean {
    return code === QUOTE && this.#string() && this.#now('colon');
  }

  #value(code: number): boolean {
    if (code === OPEN_BRACE) return this.#open(CLOSE_BRACE, 'first key');
    if (code === OPEN_BRACKET) return this.#open(CLOSE_BRACKET, 'first value');
    const scalar = code === QUOTE ? this.#string() : code === MINUS || isDigit(code) ? this.#number() : this.#literal(code);
    return scalar && this.#now('separator');
  }

  #open(closing: number, next: Expectation): boolean {
    this.#owed.push(closing);
    return this.#take(next);
  }

  #close(): boolean {
    this.#owed.pop();
    return this.#take('separator');
  }

  #take(next: Expectation): boolean {
    this.#at++;
    return this.#now(next);
  }

  #now(next: Expectation): boolean {
    this.#expected = next;
    return true;
  }

  #string(): boolean {
    for (;;) {
      this.#at++;
      const code = this.#code();
      if (code === QUOTE) {
        this.#at++;
        return true;
      }
      // NaN, the end, fails this as well.
      if (!(code >= 0x20)) return false;
      if (code === BACKSLASH && !this.#escape()) return false;
    }
  }

  /** Stands on the backslash, and goes to the last character of the escape. */
  #escape(): boolean {
    const kind = this.#text[++this.#at];
    if (kind === undefined) return false;
    if (kind !== 'u') return '"\\/bfnrt'.includes(kind);
    for (let digit = 0; digit < 4; digit++) {
      this.#at++;
      if (!/^[\dA-Fa-f]$/.test(this.#text.charAt(this.#at))) return false;
    }
    return true;
  }

  #number(): boolean {
    if (this.#code() === MINUS) this.#at++;
    if (this.#code() === ZERO) this.#at++;
    else if (!this.#digits()) return false;
    if (this.#code() === DOT) {
      this.#at++;
      if (!this.#digits()) return false;
    }
    if ((this.#code() | 0x20) !== LOWER_E) return true;
    this.#at++;
    if (this.#code() === PLUS || this.#code() === MINUS) this.#at++;
    return this.#digits();
  }

  #digits(): boolean {
    const from = this.#at;
    while (isDigit(this.#code())) this.#at++;
    return this.#at > from;
  }

  #literal(code: number): boolean {
    const word = ['true', 'false', 'null'].find((each) => each.charCodeAt(0) === code);
    if (word === undefined) return false;
    for (let index = 1; index < word.length; index++) {
      if (this.#text[++this.#at] !== word[index]) return false;
    }
    this.#at++;
    return true;
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#code();
      if (code !== 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d) return;
      this.#at++;
    }
  }

  /** The character in question; NaN at the end. */
  #code(): number {
    return this.#text.charCodeAt(this.#at);
  }
}

function isDigit(code: number): boolean {
  return code >= ZERO && code <= NINE;
}
