import { foldCase } from '../routing/path';

const ESCAPE = /%[0-9a-fA-F]{2}/;
const ESCAPES = /%[0-9a-fA-F]{2}/g;

// A well-formed multi-byte character, as Latin-1 code units. Overlong forms
// that would decode to ASCII are weeded out by decodeUtf8.
const UTF8 = /[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g;

/** What is left of a path in its canonical form, and whether reaching it took more than decoding. */
export interface Canonical {
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
  const text = foldCase(decoded);
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
  return foldCase(decodeFully(text)).replace(/\p{Cc}/gu, '').split(/[/\\;?#]/).map(trimmed).map(withoutSuffix).filter(isNotEmpty);
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
 * Percent-decodes until nothing is left to decode, in one pass: a decoded
 * character is looked at again with those before it, so that `%2525…` costs
 * no pass a level. Order is of no account, since no two escapes overlap.
 */
function decodeFully(path: string): string {
  if (!path.includes('%')) return decodeUtf8(path);
  const out: string[] = [];
  for (let i = 0; i < path.length; i++) {
    out.push(path[i] as string);
    while (out.length > 2 && out[out.length - 3] === '%') {
      const escape = out.slice(-3).join('');
      if (!ESCAPE.test(escape)) break;
      out.length -= 3;
      out.push(decodeEscape(escape));
    }
  }
  return decodeUtf8(out.join(''));
}

function decodeEscape(escape: string): string {
  return String.fromCharCode(parseInt(escape.slice(1), 16));
}

/** Bytes that stand for a character become that character; repeated, at half the length each time. */
function decodeUtf8(text: string): string {
  let before: string;
  let after = text;
  do {
    before = after;
    after = before.replace(UTF8, decodeCharacter);
  } while (after.length < before.length);
  return after;
}

function decodeCharacter(bytes: string): string {
  const character = Buffer.from(bytes, 'latin1').toString('utf8');
  return character.includes('\ufffd') ? bytes : character;
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

function trimmed(text: string): string {
  return text.trim();
}

function isNotEmpty(text: string): boolean {
  return text !== '';
}
