import { ExpressionTail, expressionOf, type Piece, quoted } from './wildcard';
import type { Part, Segment } from './segment';
import { expandGroups, readTokens, refuse, refuseStars, type Token } from './reader';
import { fold, type PathRules } from './path';
import { decodeSegment, decodeStatic } from './decoding';

type Tokens = readonly Token[];

const NUMBERED_OR_NAMED = /\\[1-9k]|\(\?<(?![=!])/;
/** Reserved characters of a segment: their escapes are not equivalent (RFC 3986 section 2.2). */
const RESERVED = /[;:@&=+$,]/;
const EMPTY: Segment = Object.freeze({ kind: 'static', text: '' });

/**
 * Parses a route pattern (INTERFACE section 4.2) into the segments of its
 * alternatives: one, or several with optional parts (`{…}`). The first that
 * matches counts.
 * @param prefix True for the path of middleware or of a mount.
 * @throws TypeError that names the pattern, what is wrong with it and what to write instead.
 */
export function parseAlternatives(pattern: unknown, rules: PathRules, prefix: boolean): Segment[][] {
  if (typeof pattern !== 'string') throw new TypeError(`a route pattern must be a string or a RegExp, got ${pattern === null ? 'null' : typeof pattern}`);
  return new Parser(pattern, rules, prefix).parse();
}

class Parser {
  readonly #pattern: string;
  readonly #rules: PathRules;
  readonly #prefix: boolean;
  /** True where a slash at the end is ignored. */
  readonly #ignoresSlash: boolean;

  constructor(pattern: string, rules: PathRules, prefix: boolean) {
    this.#pattern = pattern;
    this.#rules = rules;
    this.#prefix = prefix;
    this.#ignoresSlash = prefix || rules.ignoreTrailingSlash;
  }

  parse(): Segment[][] {
    const pattern = this.#pattern;
    // Express 4 read it as everything.
    if (/^\*+$/.test(pattern)) refuse(pattern, 'must start with "/"; write "/**" for every path below "/"');
    let tokens = readTokens(pattern);
    const grouped = tokens.some(({ kind }) => kind === 'group');
    const isExpress = grouped || tokens.some(({ kind }) => kind === 'wildcard');
    if (isExpress && this.#ignoresSlash) while (tokens.at(-1)?.kind === 'slash') tokens = tokens.slice(0, -1);
    const alternatives = grouped ? expandGroups(pattern, tokens) : [tokens];
    const parsed = alternatives.flatMap((alternative) => {
      const segments = this.#segments(alternative, grouped);
      return segments === undefined ? [] : [segments];
    });
    if (parsed.length === 0) refuse(pattern, `must start with "/"; write ${JSON.stringify(`/${pattern}`)}`);
    return parsed;
  }

  /** Returns undefined where no path begins like the pattern. */
  #segments(tokens: Tokens, grouped: boolean): Segment[] | undefined {
    this.#checkSeparated(tokens);
    const [first] = tokens;
    if (first === undefined) {
      if (this.#prefix) return [];
      // Strict Express matches the empty path alone, and no path is empty.
      return grouped && !this.#ignoresSlash && this.#rules.asExpress === true ? undefined : [EMPTY];
    }
    if (first.kind === 'wildcard') return [this.#tail(split(tokens), false)];
    if (first.kind !== 'slash') return undefined;
    let segments = split(tokens.slice(1));
    if (this.#rules.ignoreDuplicateSlashes) segments = segments.filter(({ length }, index) => length > 0 || index === segments.length - 1);
    const wildcard = segments.findIndex((segment) => segment.some(({ kind }) => kind === 'wildcard'));
    const endsInSlash = segments.at(-1)?.length === 0;
    // As in Express a slash at the end that an optional part leaves is required.
    if (wildcard === -1 && !(grouped && endsInSlash && this.#ignoresSlash)) return this.#segmentsOf(segments);
    const from = wildcard === -1 ? segments.length - 1 : wildcard;
    const head = segments.slice(0, from).map((segment) => this.#segment(segment));
    if (!head.some(({ kind }) => kind === 'deep')) return [...head, this.#tail(segments.slice(from), true)];
    if (wildcard === -1) return head;
    return refuse(this.#pattern, 'has "**" before a wildcard with a name; give both names, such as "/*head/x/*rest"');
  }

  #segmentsOf(segments: Tokens[]): Segment[] {
    const parsed = segments.map((segment) => this.#segment(segment));
    const endsInSlash = (): boolean => parsed.length > 0 && isEmpty(parsed[parsed.length - 1] as Segment);
    // Express ignores several slashes at the end where it ignores one.
    if (this.#ignoresSlash && this.#rules.asExpress === true) while (parsed.length > 1 && endsInSlash()) parsed.pop();
    if (this.#rules.ignoreTrailingSlash && parsed.length > 1 && endsInSlash()) parsed.pop();
    if (this.#prefix && endsInSlash()) parsed.pop();
    return parsed;
  }

  #segment(tokens: Tokens): Segment {
    const [first] = tokens;
    if (first === undefined) return EMPTY;
    const stars = tokens.find((token) => token.kind === 'stars');
    if (stars !== undefined) {
      if (tokens.length > 1) refuseStars(this.#pattern, stars.at);
      return stars.text === '*' ? { kind: 'param', name: '*' } : { kind: 'deep' };
    }
    if (tokens.length === 1 && first.kind === 'param' && first.constraint === undefined) return { kind: 'param', name: first.name };
    const parts = this.#parts(tokens);
    if (parts.every(({ kind }) => kind === 'text')) {
      const text = parts.map((part) => (part as { text: string }).text).join('');
      return { kind: 'static', text: fold(decodeStatic(text), this.#rules) };
    }
    return this.#mixed(parts);
  }

  #parts(tokens: Tokens): Part[] {
    const parts: Part[] = [];
    for (const token of tokens) {
      const previous = parts[parts.length - 1];
      if (token.kind === 'text') {
        const text = this.#checkEncoding(token.text);
        // Two texts meet where an optional part is left out.
        if (previous?.kind === 'text') parts[parts.length - 1] = { kind: 'text', text: previous.text + text };
        else parts.push({ kind: 'text', text });
      } else if (token.kind === 'param') {
        parts.push(token);
      }
    }
    return parts;
  }

  /** Refuses two parameters with nothing between them: nothing would tell where one ends. */
  #checkSeparated(tokens: Tokens): void {
    tokens.forEach((token, index) => {
      const previous = tokens[index - 1];
      if ((token.kind !== 'param' && token.kind !== 'wildcard') || (previous?.kind !== 'param' && previous?.kind !== 'wildcard')) return;
      if (previous.kind === 'param' && previous.constraint !== undefined && token.kind === 'param') return;
      const or = previous.kind === 'param' && token.kind === 'param' ? `, or give the first a constraint such as ":${previous.name}(\\\\d+)"` : '';
      refuse(this.#pattern, `has "${formatToken(previous)}" and "${formatToken(token)}" with nothing between them; put text between${or}`);
    });
  }

  #checkEncoding(literal: string): string {
    if (decodeSegment(literal) === undefined) refuse(this.#pattern, `has malformed percent-encoding in ${JSON.stringify(literal)}; write "%25" for a percent sign`);
    return literal;
  }

  #mixed(parts: readonly Part[]): Segment {
    const rules = this.#rules;
    const folded = !rules.caseSensitive;
    const read = parts.map((part): Part => (part.kind === 'text' ? { kind: 'text', text: fold(decodeSegment(part.text) as string, rules) } : part));
    const texts = parts.flatMap((part) => (part.kind === 'text' ? [part.text] : []));
    const literal = texts.some((text) => RESERVED.test(text)) && !texts.some((text) => text.includes('%'));
    const params = parts.filter((part) => part.kind === 'param');
    const unconstrained = params.filter(({ constraint }) => constraint === undefined).length;
    if (unconstrained === params.length) {
      const pieces = read.map((part): Piece => (part.kind === 'text' ? part.text : { name: part.name, wild: false }));
      const greedy = rules.asExpress === true && unconstrained > 1 ? new RegExp(`^${expressionOf(pieces, '')}$`) : undefined;
      return { kind: 'mixed', parts: read, regex: undefined, greedy, folded, literal };
    }
    // Two parameters without constraints in one expression would backtrack over each other.
    if (unconstrained > 1) refuse(this.#pattern, 'mixes several parameters without a constraint and one with in a segment; give each of them a constraint');
    const source = read.map((part, index) => (part.kind === 'text' ? quoted(part.text) : `(?<waypost${index}>${part.constraint ?? '[^]+?'})`)).join('');
    for (const { name, constraint } of params) if (constraint !== undefined) this.#checkConstraint(name, constraint);
    return { kind: 'mixed', parts: read, regex: new RegExp(`^(?:${source})$`, folded ? 'i' : ''), greedy: undefined, folded, literal };
  }

  #checkConstraint(name: string, constraint: string): void {
    // A larger expression holds the constraint: group numbers and names would differ there.
    if (NUMBERED_OR_NAMED.test(constraint.replace(/\\[^1-9k]/g, ''))) {
      refuse(this.#pattern, `has a backreference or a named group in the constraint on ":${name}"; write a group without a name, "(?:…)", and repeat the expression`);
    }
    if (constraint === '') refuse(this.#pattern, `has an empty constraint on ":${name}"; write what it must match, such as "(\\\\d+)", or leave it out`);
    try {
      new RegExp(constraint);
    } catch (error) {
      refuse(this.#pattern, `has a constraint on ":${name}" that is no regular expression: ${(error as Error).message}`);
    }
  }

  /** @param rooted True behind a slash. */
  #tail(segments: readonly Tokens[], rooted: boolean): Segment {
    const pieces: Piece[] = [];
    segments.forEach((tokens, index) => {
      if (index > 0 || rooted) pieces.push('/');
      pieces.push(...tokens.map((token) => this.#piece(token)));
    });
    const isWhole = segments.every((tokens) => tokens.length === 1 || tokens.every(({ kind }) => kind !== 'wildcard'));
    const equivalent = isWhole ? segments.filter(({ length }) => length > 0).map((tokens): Segment => (tokens[0]?.kind === 'wildcard' ? { kind: 'deep' } : this.#segment(tokens))) : null;
    return new ExpressionTail(joinTexts(pieces), equivalent, this.#rules);
  }

  #piece(token: Token): Piece {
    if (token.kind === 'text') return decodeStatic(this.#checkEncoding(token.text));
    if (token.kind === 'wildcard') return { name: token.name, wild: true };
    if (token.kind === 'stars') refuse(this.#pattern, `has "${token.text}" beside a wildcard with a name; give it a name too, such as "${token.text === '*' ? ':' : '*'}rest"`);
    const { name, constraint } = token as Extract<Token, { kind: 'param' }>;
    if (constraint !== undefined) refuse(this.#pattern, `has a constraint on ":${name}" at or behind a wildcard with a name; write "/**" in its place, or check req.params.${name} in the handler`);
    return { name, wild: false };
  }
}

function isEmpty(segment: Segment): boolean {
  return segment.kind === 'static' && segment.text === '';
}

function formatToken({ kind, name }: Extract<Token, { kind: 'param' | 'wildcard' }>): string {
  return `${kind === 'wildcard' ? '*' : ':'}${name}`;
}

/** Cuts tokens at slashes. */
function split(tokens: Tokens): Token[][] {
  const segments: Token[][] = [[]];
  for (const token of tokens) {
    if (token.kind === 'slash') segments.push([]);
    else (segments[segments.length - 1] as Token[]).push(token);
  }
  return segments;
}

/** Joins adjacent texts. */
function joinTexts(pieces: readonly Piece[]): Piece[] {
  const found: Piece[] = [];
  for (const piece of pieces) {
    const previous = found[found.length - 1];
    if (typeof piece === 'string' && typeof previous === 'string') found[found.length - 1] = previous + piece;
    else found.push(piece);
  }
  return found;
}
