import { decodeSegment, decodeStatic, fold, type PathRules } from './path';

/** One segment of a pattern. */
export type Segment =
  /** Text that must be equal; see `Path.text`. */
  | { readonly kind: 'static'; readonly text: string }
  /** `:name`, or `*` under the name `*`: one segment that is not empty. */
  | { readonly kind: 'param'; readonly name: string }
  /** Parameters that share a segment with text, or that have a constraint. */
  | { readonly kind: 'mixed'; readonly parts: readonly Part[]; readonly regex: RegExp | undefined; readonly folded: boolean }
  /** `**`: one or more segments, the first not empty. */
  | { readonly kind: 'deep' };

/** A piece of a mixed segment. */
export type Part =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'param'; readonly name: string; readonly constraint: string | undefined };

const NUMBERED_OR_NAMED = /\\[1-9k]|\(\?<(?![=!])/;
const NAME = /[\p{ID_Start}$_][\p{ID_Continue}$]*/uy;

/**
 * Parses a route pattern (INTERFACE section 4.2) into its segments.
 * @throws TypeError that names the pattern, what is wrong with it and what to write instead.
 */
export function parseSegments(pattern: unknown, rules: PathRules): Segment[] {
  if (typeof pattern !== 'string') {
    const given = pattern instanceof RegExp ? `the RegExp ${String(pattern)}` : (pattern === null ? 'null' : typeof pattern);
    throw new TypeError(`a route pattern must be a string, got ${given}; write a constraint such as "/:id(\\\\d+)" for a regular expression`);
  }
  if (!pattern.startsWith('/')) {
    const instead = /^\*+$/.test(pattern) ? '"/**" for every path below "/"' : `"/${pattern}"`;
    refuse(pattern, `must start with "/"; write ${instead}`);
  }
  const names = new Set<string>();
  let texts = splitOutsideConstraints(pattern);
  if (rules.ignoreDuplicateSlashes) texts = texts.filter((text, index) => text !== '' || index === texts.length - 1);
  if (rules.ignoreTrailingSlash && texts.length > 1 && texts[texts.length - 1] === '') texts.pop();
  return texts.map((text, index) => parseSegment(pattern, text, '/' + texts.slice(0, index).map((before) => before + '/').join(''), names, rules));
}

function refuse(pattern: string, problem: string): never {
  throw new TypeError(`route pattern ${JSON.stringify(pattern)} ${problem}`);
}

/** A constraint may hold a `/` only by mistake; keep it whole so that the message can name it. */
function splitOutsideConstraints(pattern: string): string[] {
  const texts: string[] = [];
  let start = 1;
  for (let i = 1; i < pattern.length; i++) {
    const char = pattern[i];
    if (char === '\\') i++;
    else if (char === '(') i = constraintEnd(pattern, pattern, i);
    else if (char === '/') {
      texts.push(pattern.slice(start, i));
      start = i + 1;
    }
  }
  texts.push(pattern.slice(start));
  return texts;
}

function parseSegment(pattern: string, text: string, before: string, names: Set<string>, rules: PathRules): Segment {
  if (text === '*' || text === '**') {
    take(pattern, names, text);
    return text === '*' ? { kind: 'param', name: '*' } : { kind: 'deep' };
  }
  const parts = parseParts(pattern, text, before, names);
  const [first] = parts;
  if (first === undefined) return { kind: 'static', text: '' };
  if (parts.length === 1 && first.kind === 'text') {
    return { kind: 'static', text: fold(decodeStatic(first.text), rules) };
  }
  if (parts.length === 1 && first.kind === 'param' && first.constraint === undefined) {
    return { kind: 'param', name: first.name };
  }
  return mixedSegment(pattern, parts, rules);
}

function take(pattern: string, names: Set<string>, name: string): void {
  if (names.has(name)) {
    refuse(pattern, name.startsWith('*')
      ? `has "${name}" twice, but there is one key for it in req.params; name the others, such as ":name"`
      : `has the name ":${name}" twice; give each parameter its own name`);
  }
  names.add(name);
}

function parseParts(pattern: string, text: string, before: string, names: Set<string>): Part[] {
  const parts: Part[] = [];
  let literal = '';
  const flush = (): void => {
    if (literal !== '') parts.push({ kind: 'text', text: checkEncoding(pattern, literal) });
    literal = '';
  };
  for (let i = 0; i < text.length; i++) {
    const char = text[i] as string;
    if (char === '\\') {
      literal += escaped(pattern, text[++i]);
    } else if (char === ':') {
      flush();
      i = parseParam(pattern, text, i, parts, names);
    } else {
      refuseSpecial(pattern, text, before, i);
      literal += char;
    }
  }
  flush();
  return parts;
}

/** The character behind a backslash. */
function escaped(pattern: string, char: string | undefined): string {
  if (char === undefined) refuse(pattern, 'has a "\\\\" that escapes nothing; write "\\\\\\\\" for a backslash');
  if (char === '?' || char === '#') refuse(pattern, `has an escaped "${char}", which no request path holds; write "${char === '?' ? '%3F' : '%23'}" for the encoded character`);
  return char;
}

/** Reads `:name` or `:name(constraint)` at `start`; returns where it ends. */
function parseParam(pattern: string, text: string, start: number, parts: Part[], names: Set<string>): number {
  NAME.lastIndex = start + 1;
  const name = NAME.exec(text)?.[0];
  if (name === undefined) refuse(pattern, 'has a ":" without a name; write ":name", or "\\\\:" for the character itself');
  // "__proto__" as a key would replace the prototype of req.params.
  if (name === '__proto__') refuse(pattern, 'may not name a parameter "__proto__"; choose another name');
  take(pattern, names, name);
  let end = start + name.length;
  let constraint: string | undefined;
  if (text[end + 1] === '(') {
    const close = constraintEnd(pattern, text, end + 1);
    constraint = text.slice(end + 2, close);
    end = close;
  }
  const previous = parts[parts.length - 1];
  if (previous?.kind === 'param' && previous.constraint === undefined) {
    refuse(pattern, `has ":${previous.name}" and ":${name}" with nothing between them; put text between, or give the first a constraint such as ":${previous.name}(\\\\d+)"`);
  }
  parts.push({ kind: 'param', name, constraint });
  return end;
}

/** Where the constraint that opens at `open` closes. */
function constraintEnd(pattern: string, text: string, open: number): number {
  let depth = 0;
  let inClass = false;
  for (let i = open; i < text.length; i++) {
    const char = text[i];
    if (char === '\\') i++;
    else if (inClass) inClass = char !== ']';
    else if (char === '[') inClass = true;
    else if (char === '(') depth++;
    else if (char === ')' && --depth === 0) return i;
  }
  return refuse(pattern, 'opens a "(" that it does not close; write ")" where the constraint ends, or "\\\\(" for the character itself');
}

function refuseSpecial(pattern: string, text: string, before: string, index: number): void {
  const char = text[index] as string;
  if (char === '*') refuseStar(pattern, text, before, index);
  if (char === '{' || char === '}') refuse(pattern, `has a "${char}"; write an optional part as two patterns, such as ["/a", "/a/:b"]`);
  if (char === '?') refuse(pattern, 'has a "?"; write an optional part as two patterns, such as ["/a", "/a/:b"]; the query is no part of a pattern');
  if (char === '+') refuse(pattern, 'has a "+"; write "/**" for one or more segments, or "\\\\+" for the character itself');
  if (char === '(' || char === ')') refuse(pattern, `has a "${char}" that follows no parameter name; write ":name(…)", or "\\\\${char}" for the character itself`);
  if (char === '#') refuse(pattern, 'has a "#", which no request path holds; write "%23" for the encoded character');
}

function refuseStar(pattern: string, text: string, before: string, index: number): never {
  const problem = 'has a "*" that does not stand alone in its segment; write';
  const head = text.slice(0, index);
  const tail = text.slice(index).replace(/^\*+/, '');
  if (tail === '') {
    const stem = `${before}${head}${head === '' ? '' : '/'}`;
    refuse(pattern, `${problem} "${stem}*" for one segment or "${stem}**" for one or more`);
  }
  if (head === '' && /^[\p{ID_Continue}$]+$/u.test(tail)) {
    refuse(pattern, `${problem} "${before}*" for one segment or "${before}**" for one or more; its capture is req.params["*"] or ["**"], not req.params.${tail}`);
  }
  refuse(pattern, `${problem} "${before}${head}:name${tail}" for a part of a segment`);
}

function checkEncoding(pattern: string, literal: string): string {
  if (decodeSegment(literal) === undefined) refuse(pattern, `has malformed percent-encoding in ${JSON.stringify(literal)}; write "%25" for a percent sign`);
  return literal;
}

function mixedSegment(pattern: string, parts: readonly Part[], rules: PathRules): Segment {
  const decoded = parts.map((part): Part => (part.kind === 'text' ? { kind: 'text', text: fold(decodeSegment(part.text) as string, rules) } : part));
  const free = parts.filter((part) => part.kind === 'param' && part.constraint === undefined).length;
  const constrained = parts.some((part) => part.kind === 'param' && part.constraint !== undefined);
  if (!constrained) return { kind: 'mixed', parts: decoded, regex: undefined, folded: !rules.caseSensitive };
  // Two free parameters in one expression would backtrack over each other.
  if (free > 1) refuse(pattern, 'mixes several parameters without a constraint and one with in a segment; give each of them a constraint');
  const source = decoded.map((part, index) => {
    if (part.kind === 'text') return part.text.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
    return `(?<waypost${index}>${part.constraint ?? '[^]+?'})`;
  }).join('');
  return { kind: 'mixed', parts: decoded, regex: compile(pattern, parts, source, rules), folded: !rules.caseSensitive };
}

function compile(pattern: string, parts: readonly Part[], source: string, rules: PathRules): RegExp {
  for (const part of parts) {
    if (part.kind !== 'param' || part.constraint === undefined) continue;
    // The constraint becomes part of a larger expression, where numbers and names would mean something else.
    if (NUMBERED_OR_NAMED.test(part.constraint.replace(/\\[^1-9k]/g, ''))) {
      refuse(pattern, `has a backreference or a named group in the constraint on ":${part.name}"; write a group without a name, "(?:…)", and repeat the expression`);
    }
    if (part.constraint === '') refuse(pattern, `has an empty constraint on ":${part.name}"; write what it must match, such as "(\\\\d+)", or leave it out`);
    try {
      new RegExp(part.constraint);
    } catch (error) {
      refuse(pattern, `has a constraint on ":${part.name}" that is no regular expression: ${(error as Error).message}`);
    }
  }
  return new RegExp(`^(?:${source})$`, rules.caseSensitive ? '' : 'i');
}
