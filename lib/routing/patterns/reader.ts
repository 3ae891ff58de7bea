/** A piece of a pattern's text. */
export type Token =
  | { readonly kind: 'slash' }
  | { readonly kind: 'text'; readonly text: string }
  /** `:name`, perhaps with a constraint. */
  | { readonly kind: 'param'; readonly name: string; readonly constraint: string | undefined }
  /** `*name`. */
  | { readonly kind: 'wildcard'; readonly name: string }
  /** `*` or `**`, at its place in the text. */
  | { readonly kind: 'stars'; readonly text: string; readonly at: number }
  /** `{…}`. */
  | { readonly kind: 'group'; readonly tokens: readonly Token[] };

/** Most alternatives of one pattern, by its optional parts; path-to-regexp has the same bound. */
const MAX_ALTERNATIVES = 256;

const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*/uy;

/** @throws TypeError that names the pattern and what is wrong with it. */
export function refuse(pattern: string, problem: string): never {
  throw new TypeError(`route pattern ${JSON.stringify(pattern)} ${problem}`);
}

/**
 * Reads the text of a pattern.
 * @throws TypeError that names the pattern, what is wrong with it and what to write instead.
 */
export function readTokens(pattern: string): readonly Token[] {
  return new Reader(pattern).read(false);
}

/**
 * Expands optional parts to alternatives, those with a part before those without.
 * @throws TypeError where there are too many.
 */
export function expandGroups(pattern: string, tokens: readonly Token[]): readonly (readonly Token[])[] {
  const found: (readonly Token[])[] = [];
  const visit = (left: readonly Token[]): void => {
    const index = left.findIndex(({ kind }) => kind === 'group');
    if (index === -1) {
      if (found.push(left) > MAX_ALTERNATIVES) {
        refuse(pattern, `has more than ${MAX_ALTERNATIVES} combinations of its optional parts; write several patterns with fewer "{…}" each`);
      }
      return;
    }
    const { tokens: inner } = left[index] as Extract<Token, { kind: 'group' }>;
    const [before, after] = [left.slice(0, index), left.slice(index + 1)];
    visit([...before, ...inner, ...after]);
    visit([...before, ...after]);
  };
  visit(tokens);
  return found;
}

class Reader {
  readonly #pattern: string;
  readonly #names = new Set<string>();
  #at = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  /** @param grouped True when a `}` ends the text. */
  read(grouped: boolean): Token[] {
    const pattern = this.#pattern;
    const tokens: Token[] = [];
    let literal = '';
    const flush = (): void => {
      if (literal !== '') tokens.push({ kind: 'text', text: literal });
      literal = '';
    };
    while (this.#at < pattern.length) {
      const char = pattern[this.#at] as string;
      if (char === '}' && grouped) {
        flush();
        return tokens;
      }
      if (char !== '\\' && !'/:*{'.includes(char)) {
        this.#refuseSpecial(char);
        literal += char;
        this.#at++;
        continue;
      }
      const token = char === '\\' ? this.#escaped() : this.#special(char);
      if (typeof token === 'string') {
        literal += token;
        continue;
      }
      flush();
      tokens.push(token);
    }
    if (grouped) refuse(pattern, 'opens a "{" that it does not close; write "}" where the optional part ends, or "\\\\{" for the character itself');
    flush();
    return tokens;
  }

  #special(char: string): Token {
    if (char === '/') return this.#slash();
    if (char === '{') {
      this.#at++;
      const tokens = this.read(true);
      this.#at++;
      return { kind: 'group', tokens };
    }
    const at = this.#at++;
    const name = this.#name();
    if (char === ':') return this.#param(name);
    if (name !== undefined) {
      this.#addName(name, `*${name}`);
      return { kind: 'wildcard', name };
    }
    while (this.#pattern[this.#at] === '*') this.#at++;
    const text = this.#pattern.slice(at, this.#at);
    if (text.length > 2) refuseStars(this.#pattern, at);
    this.#addName(text, text);
    return { kind: 'stars', text, at };
  }

  #slash(): Token {
    this.#at++;
    return { kind: 'slash' };
  }

  /** Reads an escaped character. */
  #escaped(): Token | string {
    const pattern = this.#pattern;
    const char = pattern[++this.#at];
    if (char === undefined) refuse(pattern, 'has a "\\\\" that escapes nothing; write "\\\\\\\\" for a backslash');
    if (char === '?' || char === '#') refuse(pattern, `has an escaped "${char}", which no request path holds; write "${char === '?' ? '%3F' : '%23'}" for the encoded character`);
    if (char === '/') return this.#slash();
    this.#at++;
    return char;
  }

  /** Reads a name, quoted or not; undefined for none. */
  #name(): string | undefined {
    const pattern = this.#pattern;
    if (pattern[this.#at] === '"') return this.#quoted();
    NAME.lastIndex = this.#at;
    const name = NAME.exec(pattern)?.[0];
    if (name !== undefined) this.#at += name.length;
    return name;
  }

  #quoted(): string | undefined {
    const pattern = this.#pattern;
    let name = '';
    for (let i = this.#at + 1; i < pattern.length; i++) {
      if (pattern[i] === '"') {
        this.#at = i + 1;
        return name === '' ? undefined : name;
      }
      if (pattern[i] === '\\') i++;
      name += pattern[i] ?? '';
    }
    return refuse(pattern, 'opens a quoted name that it does not close; write "\\"" where the name ends, or "\\\\:" and "\\\\*" for the characters themselves');
  }

  #param(name: string | undefined): Token {
    const pattern = this.#pattern;
    if (name === undefined) refuse(pattern, 'has a ":" without a name; write ":name", or "\\\\:" for the character itself');
    this.#addName(name, `:${name}`);
    if (pattern[this.#at] !== '(') return { kind: 'param', name, constraint: undefined };
    const close = constraintEnd(pattern, this.#at);
    const constraint = pattern.slice(this.#at + 1, close);
    this.#at = close + 1;
    return { kind: 'param', name, constraint };
  }

  /** Adds a name. @throws TypeError for one that the pattern has already. */
  #addName(name: string, written: string): void {
    const pattern = this.#pattern;
    // "__proto__" as a key would replace the prototype of req.params.
    if (name === '__proto__') refuse(pattern, 'may not name a parameter "__proto__"; choose another name');
    if (this.#names.has(name)) {
      refuse(pattern, /^\*+$/.test(name)
        ? `has "${name}" twice, but there is one key for it in req.params; name the others, such as ":name"`
        : `has the name "${written}" twice; give each parameter its own name`);
    }
    this.#names.add(name);
  }

  #refuseSpecial(char: string): void {
    const pattern = this.#pattern;
    if (char === '}') refuse(pattern, 'has a "}" that closes nothing; write "{" where the optional part begins, or "\\\\}" for the character itself');
    if (char === '?') refuse(pattern, 'has a "?"; write an optional part in braces, such as "/a{/:b}"; the query is no part of a pattern');
    if (char === '+') refuse(pattern, 'has a "+"; write "/**" or "/*name" for one or more segments, or "\\\\+" for the character itself');
    if (char === '(' || char === ')') refuse(pattern, `has a "${char}" that follows no parameter name; write ":name(…)", or "\\\\${char}" for the character itself`);
    if (char === '#') refuse(pattern, 'has a "#", which no request path holds; write "%23" for the encoded character');
  }
}

/** Finds the `)` of the constraint that opens at `open`. */
function constraintEnd(pattern: string, open: number): number {
  let depth = 0;
  let inClass = false;
  for (let i = open; i < pattern.length; i++) {
    const char = pattern[i];
    if (char === '\\') i++;
    else if (inClass) inClass = char !== ']';
    else if (char === '[') inClass = true;
    else if (char === '(') depth++;
    else if (char === ')' && --depth === 0) return i;
  }
  return refuse(pattern, 'opens a "(" that it does not close; write ")" where the constraint ends, or "\\\\(" for the character itself');
}

/** Refuses stars that share their segment with something else. */
export function refuseStars(pattern: string, at: number): never {
  const problem = 'has a "*" that does not stand alone in its segment; write';
  const segment = pattern.lastIndexOf('/', at) + 1;
  const slash = pattern.indexOf('/', at);
  const [before, head] = [pattern.slice(0, segment), pattern.slice(segment, at)];
  const tail = pattern.slice(at, slash === -1 ? undefined : slash).replace(/^\*+/, '');
  if (tail === '') {
    const stem = `${before}${head}${head === '' ? '' : '/'}`;
    refuse(pattern, `${problem} "${stem}:name" for one segment or "${stem}**" for one or more`);
  }
  refuse(pattern, `${problem} "${before}${head}:name${tail}" for a part of a segment`);
}
