import { foldWidely } from '../../routing/pattern-case';

const ESCAPE = /%[0-9a-fA-F]{2}/;
const ESCAPES = /%[0-9a-fA-F]{2}/g;

const LEAD = /[\xc2-\xf4][\x80-\xf4]/;

/** What is left of a path in its canonical form, and whether reaching it took more than decoding. */
interface Canonical {
  readonly path: string;
  /** The same with a final `.xJson` kept. */
  readonly suffixed: string;
  /**
   * Whether servers may disagree on which path this is: encoded or backward
   * slashes, double encoding, dot segments, `;`, `?`, `#`, control characters,
   * raw white space, a leading `//`.
   */
  readonly ambiguous: boolean;
  /** The decoded text, in lower case and before anything was cut from it. */
  readonly text: string;
}

/**
 * The one path that all spellings of it come to: percent-decoded until nothing
 * is left to decode, `\` as `/`, `;…` cut from every segment, dot segments
 * resolved (RFC 3986 section 5.2.4), slashes collapsed, a trailing slash and
 * `.xJson` dropped, in lower case. Malformed percent-encoding stays. Takes
 * time linear in the path.
 */
export function canonicalPath(path: string): string {
  return canonical(path).path;
}

/** {@link canonicalPath}, with what {@link Canonical} tells of the way there. */
export function canonical(path: string): Canonical {
  const decoded = decodeFully(path);
  const text = foldWidely(decoded);
  const segments = resolveDots(text.replaceAll('\\', '/').split('/').map(withoutParameters));
  const suffixed = '/' + segments.join('/');
  dropSuffix(segments);
  return { path: '/' + segments.join('/'), suffixed, ambiguous: isAmbiguous(path, decoded), text };
}

/**
 * The pieces of a text that can be whole segments of a path for some server,
 * in their order: however a server decodes, cuts, resolves and collapses, the
 * segments it sees come from these, in this order.
 */
export function tokens(text: string): string[] {
  return foldWidely(decodeFully(text)).replace(/\p{Cc}/gu, '').split(/[/\\;?#]/).map((piece) => withoutSuffix(piece.trim())).filter(isNotEmpty);
}

function isAmbiguous(path: string, decoded: string): boolean {
  // URL parsers strip control characters, and take what follows a leading `//` for a host.
  if (/^\/\/|[\\;?#\p{Cc}]|(?:^|\/)\.{1,2}(?=\/|$)/u.test(decoded)) return true;
  // No client can send white space, but a rewrite may have decoded it; URL parsers trim it.
  if (/\s/.test(path)) return true;
  if (!path.includes('%')) return false;
  return /%2f/i.test(path) || ESCAPE.test(path.replace(ESCAPES, decodeEscape));
}

/**
 * Percent-decodes until nothing is left to decode, then makes characters of the
 * bytes that stand for some, until no more do.
 */
function decodeFully(path: string): string {
  const bytes = path.includes('%') ? collapse(path, decodeLastEscape) : path;
  return LEAD.test(bytes) ? collapse(bytes, decodeLastCharacter) : bytes;
}

/**
 * Decodes in one pass, however deeply: what was decoded is looked at again with
 * what stands before it, so that neither `%2525…` nor `%C2%C2…%80` costs a pass
 * a level. That finds the same as pass after pass, since no two escapes and no
 * two sequences of bytes can overlap.
 *
 * @param decodeLast Decodes what the characters end with, and returns whether it did.
 */
function collapse(text: string, decodeLast: (characters: string[]) => boolean): string {
  const characters: string[] = [];
  for (const character of text) {
    characters.push(character);
    while (decodeLast(characters));
  }
  return characters.join('');
}

function decodeLastEscape(characters: string[]): boolean {
  if (characters[characters.length - 3] !== '%') return false;
  const escape = characters.slice(-3).join('');
  return ESCAPE.test(escape) && putLast(characters, 3, decodeEscape(escape));
}

function decodeEscape(escape: string): string {
  return String.fromCharCode(parseInt(escape.slice(1), 16));
}

/** Of bytes as Latin-1 characters. */
function decodeLastCharacter(characters: string[]): boolean {
  const { length } = characters;
  let start = length - 1;
  while (start > length - 4 && isContinuation(characters[start])) start--;
  if (length - start !== sequenceLength(characters[start])) return false;
  const character = Buffer.from(characters.slice(start).join(''), 'latin1').toString('utf8');
  // Overlong forms and surrogates are no characters.
  return !character.includes('\ufffd') && putLast(characters, length - start, character);
}

function putLast(characters: string[], taken: number, character: string): true {
  characters.length -= taken;
  characters.push(character);
  return true;
}

function isContinuation(byte: string | undefined): boolean {
  return byte !== undefined && byte >= '\x80' && byte <= '\xbf';
}

/** How many bytes a character has that begins with this one; 0 where none does. */
function sequenceLength(byte: string | undefined): number {
  if (byte === undefined || byte < '\xc2' || byte > '\xf4') return 0;
  if (byte < '\xe0') return 2;
  return byte < '\xf0' ? 3 : 4;
}

function withoutParameters(segment: string): string {
  const end = segment.indexOf(';');
  return end === -1 ? segment : segment.slice(0, end);
}

function resolveDots(segments: readonly string[]): string[] {
  const resolved: string[] = [];
  for (const segment of segments) {
    if (segment === '..') resolved.pop();
    // The first segment is what stands before the leading slash.
    else if (segment !== '.' && !(segment === '' && resolved.length === 0)) resolved.push(segment);
  }
  return resolved.filter(isNotEmpty);
}

/** Drops `.xJson`, and the dot segment that may come to light by it. */
function dropSuffix(segments: string[]): void {
  for (;;) {
    const last = segments[segments.length - 1];
    if (last === undefined) return;
    const bare = withoutSuffix(last);
    if (bare === last) return;
    segments.pop();
    if (bare === '..') segments.pop();
    else if (bare !== '' && bare !== '.') segments.push(bare);
  }
}

function withoutSuffix(segment: string): string {
  let end = segment.length;
  while (segment.endsWith('.xjson', end)) end -= 6;
  return segment.slice(0, end);
}

function isNotEmpty(text: string): boolean {
  return text !== '';
}
