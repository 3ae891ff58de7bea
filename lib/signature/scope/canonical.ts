import { foldWidely } from '../../routing/patterns/case';
import { decode, type Decoded } from '../../target/decoding';

/** What is left of a path in its canonical form, and whether reaching it took more than decoding. */
interface Canonical {
  readonly path: string;
  /** The same with a final `.xJson` kept. */
  readonly suffixed: string;
  /**
   * Whether servers may disagree on which path this is: encoded or backward
   * slashes, double encoding, `%uXXXX`, dot segments, `;`, `?`, `#`, control characters,
   * raw white space, white space at the end, a leading `//`.
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
  const decoded = decode(path);
  const text = foldWidely(decoded.text);
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
  return foldWidely(decode(text).text).replace(/\p{Cc}/gu, '').split(/[/\\;?#]/).map((piece) => withoutSuffix(piece.trim())).filter(isNotEmpty);
}

function isAmbiguous(path: string, decoded: Decoded): boolean {
  // URL parsers strip control characters, and take what follows a leading `//` for a host.
  if (/^\/\/|[\\;?#\p{Cc}]|(?:^|\/)\.{1,2}(?=\/|$)/u.test(decoded.text)) return true;
  // No client can send white space, but a rewrite may have decoded it; URL parsers trim it, and so may who decodes a path.
  if (/\s/.test(path) || /\s$/.test(decoded.text)) return true;
  return decoded.isDeep || /%2f/i.test(path);
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
