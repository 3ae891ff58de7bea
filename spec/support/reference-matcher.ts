/**
 * The route patterns of INTERFACE section 4.2, matched in the most naive way
 * that can be thought of: every placement is tried, in the order of preference,
 * until one fits. Slow, and simple enough to be checked by reading.
 */

/** How paths are compared. */
export interface ReferenceRules {
  readonly caseSensitive: boolean;
  readonly ignoreTrailingSlash: boolean;
  readonly ignoreDuplicateSlashes: boolean;
}

/** What a route answers for a path: its parameters, that it does not match, or that a capture can't be decoded. */
export type ReferenceResult = Record<string, string> | null | 'malformed';

/** What middleware under a path sees. */
export interface ReferencePrefix {
  readonly taken: string;
  readonly params: Record<string, string>;
  readonly baseUrl: string;
  readonly url: string;
  /** Whether a capture can't be decoded: it is as it was sent, and no route within runs. */
  readonly isMalformed: boolean;
}

type Piece = { readonly text: string } | { readonly name: string; readonly constraint: string | null };
type Segment = '**' | readonly Piece[];
/** A captured value: the raw segments it was taken from, or a part of one decoded segment. */
interface Capture { readonly name: string; readonly value: string | null; readonly raw: string }

export function referenceMatch(pattern: string, path: string, rules: ReferenceRules): ReferenceResult {
  const found = place(cutPattern(pattern, rules), cut(path, rules), rules);
  if (found === null) return null;
  const params: Record<string, string> = {};
  for (const { name, value } of found) {
    if (value === null) return 'malformed';
    params[name] = value;
  }
  return params;
}

/** How much of a path middleware takes that is registered under another, and what it sees of the request; `null` when it does not run. */
export function referencePrefix(pattern: string, path: string, rules: ReferenceRules): ReferencePrefix | null {
  const segments = trimEnd(cutPattern(pattern, rules));
  if (segments.length === 0) return { taken: '', params: {}, baseUrl: '', url: path, isMalformed: false };
  // Every way to cut the path in two at a slash; the one that takes most comes first, as "**" does.
  const ends = [...path.matchAll(/\/|$/g)].map((slash) => slash.index).filter((end) => end > 0).reverse();
  for (const end of ends) {
    const base = path.slice(0, end);
    // The slash that a path begins with is no trailing one, though it be all of it.
    if (base.endsWith('/') && (end === path.length ? rules.ignoreTrailingSlash && base.length > 1 : rules.ignoreDuplicateSlashes)) continue;
    const found = place(segments, cut(base, { ...rules, ignoreTrailingSlash: false }), rules);
    if (found === null) continue;
    const rest = path.slice(end);
    return {
      taken: base,
      params: Object.fromEntries(found.map(({ name, value, raw }) => [name, value ?? raw])),
      baseUrl: base.replace(/\/$/, ''),
      url: rest.startsWith('/') ? rest : `/${rest}`,
      isMalformed: found.some(({ value }) => value === null),
    };
  }
  return null;
}

function trimEnd(segments: Segment[]): Segment[] {
  return isEmpty(segments[segments.length - 1]) ? segments.slice(0, -1) : segments;
}

function isEmpty(segment: Segment | undefined): boolean {
  return segment !== undefined && segment !== '**' && segment.length === 0;
}

function cut(path: string, rules: ReferenceRules): string[] {
  let rest = path;
  if (rules.ignoreDuplicateSlashes) rest = rest.replace(/\/+/g, '/');
  if (rules.ignoreTrailingSlash && rest.length > 1 && rest.endsWith('/')) rest = rest.slice(0, -1);
  return rest.slice(1).split('/');
}

function cutPattern(pattern: string, rules: ReferenceRules): Segment[] {
  return cut(pattern, rules).map((text) => (text === '**' ? '**' : cutSegment(text)));
}

function cutSegment(text: string): Piece[] {
  if (text === '*') return [{ name: '*', constraint: null }];
  const pieces: Piece[] = [];
  for (let rest = text; rest !== '';) {
    const literal = /^(?:\\[^]|[^\\:])+/.exec(rest)?.[0];
    if (literal !== undefined) {
      pieces.push({ text: literal.replace(/\\([^])/g, '$1') });
      rest = rest.slice(literal.length);
      continue;
    }
    const name = /^:([\p{L}_][\p{L}\d_]*)/u.exec(rest)?.[1] as string;
    rest = rest.slice(name.length + 1);
    const constraint = rest.startsWith('(') ? rest.slice(1, closing(rest)) : null;
    if (constraint !== null) rest = rest.slice(constraint.length + 2);
    pieces.push({ name, constraint });
  }
  return pieces;
}

function closing(text: string): number {
  let open = 0;
  let inClass = false;
  for (let i = 0; ; i++) {
    if (text[i] === '\\') i++;
    else if (inClass) inClass = text[i] !== ']';
    else if (text[i] === '[') inClass = true;
    else if (text[i] === '(') open++;
    else if (text[i] === ')' && --open === 0) return i;
  }
}

/** Places the pattern's segments on the path's; `**` takes the most it can, the first one first. */
function place(pattern: readonly Segment[], path: readonly string[], rules: ReferenceRules): Capture[] | null {
  const [first, ...others] = pattern;
  if (first === undefined) return path.length === 0 ? [] : null;
  if (first !== '**') {
    if (path.length === 0) return null;
    const here = fitSegment(first, path[0] as string, rules);
    const after = here === null ? null : place(others, path.slice(1), rules);
    return here === null || after === null ? null : [...here, ...after];
  }
  if (path.length === 0 || path[0] === '') return null;
  for (let taken = path.length; taken >= 1; taken--) {
    const after = place(others, path.slice(taken), rules);
    if (after === null) continue;
    const raw = path.slice(0, taken).join('/');
    return [{ name: '**', value: decode(raw, true), raw }, ...after];
  }
  return null;
}

function fitSegment(pieces: readonly Piece[], raw: string, rules: ReferenceRules): Capture[] | null {
  if (pieces.every((piece) => 'text' in piece)) {
    const text = pieces.map((piece) => (piece as { text: string }).text).join('');
    return comparable(text, rules) === comparable(raw, rules) ? [] : null;
  }
  const decoded = decode(raw, false);
  // Of a reserved character in the text an escape is no other spelling: for the time of fitting it is a letter that no path has.
  const texts = pieces.flatMap((piece) => ('text' in piece ? [piece.text] : []));
  const literal = texts.some((text) => /[;:@&=+$,]/.test(text)) && !texts.some((text) => text.includes('%'));
  const set = decoded !== null && literal ? decode(raw.replace(/%(24|26|2B|2C|3A|3B|3D|40)/gi, (_, digits: string) => String.fromCharCode(0xe000 + parseInt(digits, 16))), false) : decoded;
  const back = (text: string): string => text.replace(/[\ue024-\ue040]/g, (letter) => String.fromCharCode(letter.charCodeAt(0) - 0xe000));
  const fitted = fitPieces(pieces, set ?? raw, rules)?.map((capture) => (literal && capture.value !== null ? { ...capture, value: back(capture.value), raw: back(capture.raw as string) } : capture)) ?? null;
  if (fitted === null || decoded !== null) return fitted;
  return fitted.map(({ name, raw: part }) => ({ name, value: null, raw: part }));
}

/**
 * Fits pieces on the text of a segment. Each parameter takes the least it can,
 * but one character; one with a constraint the most, as its expression does.
 */
function fitPieces(pieces: readonly Piece[], text: string, rules: ReferenceRules): Capture[] | null {
  const [first, ...others] = pieces;
  if (first === undefined) return text === '' ? [] : null;
  if ('text' in first) {
    const literal = decode(first.text, false) as string;
    const start = text.slice(0, literal.length);
    return fold(start, rules) === fold(literal, rules) ? fitPieces(others, text.slice(literal.length), rules) : null;
  }
  for (let step = 1; step <= text.length; step++) {
    const value = text.slice(0, first.constraint === null ? step : text.length + 1 - step);
    if (first.constraint !== null && !expression(first.constraint, rules).test(value)) continue;
    const after = fitPieces(others, text.slice(value.length), rules);
    if (after !== null) return [{ name: first.name, value, raw: value }, ...after];
  }
  return null;
}

const EXPRESSIONS = new Map<string, RegExp>();

function expression(constraint: string, rules: ReferenceRules): RegExp {
  const flags = rules.caseSensitive ? '' : 'i';
  let made = EXPRESSIONS.get(flags + constraint);
  if (made === undefined) EXPRESSIONS.set(flags + constraint, made = new RegExp(`^(?:${constraint})$`, flags));
  return made;
}

/** Code unit by code unit, into the upper case where an expression with the flag "i" takes that for the same. */
function fold(text: string, rules: ReferenceRules): string {
  if (rules.caseSensitive) return text;
  return text.replace(/[^]/g, (unit) => (expression(hexUnit(unit), rules).test(unit.toUpperCase()) ? unit.toUpperCase() : unit));
}

function hexUnit(unit: string): string {
  return '\\u' + unit.charCodeAt(0).toString(16).padStart(4, '0');
}

/** Equal for paths whose difference is only how a character is written that is not reserved (RFC 3986 section 6.2.2). */
function comparable(text: string, rules: ReferenceRules): string {
  if (decode(text, false) === null) return text;
  const decoded = text.replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
    decodeURIComponent(run).replace(/[;/?:@&=+$,#%]/g, hex));
  return fold(decoded, rules);
}

function hex(char: string): string {
  return `%${char.charCodeAt(0).toString(16).toUpperCase()}`;
}

/** Decodes once; in a capture of several segments an encoded slash stays encoded. `null` when malformed. */
function decode(text: string, keepSlashes: boolean): string | null {
  try {
    return decodeURIComponent(keepSlashes ? text.replace(/%2f/gi, '%252F') : text);
  } catch {
    return null;
  }
}
