import { foldWidely } from '../../routing/patterns/case';
import { decode, type Decoded } from '../../target/decoding';

/** The canonical form of a path. */
interface Canonical {
  readonly path: string;
  /** The path with a final `.xJson` kept. */
  readonly suffixed: string;
  /**
   * True if servers may read it as different paths: encoded or backward
   * slashes, double encoding, `%uXXXX`, dot segments, `;`, `?`, `#`, control characters,
   * raw white space, white space at the end, a leading `//`.
   */
  readonly ambiguous: boolean;
  /** The decoded text in lower case, uncut. */
  readonly text: string;
}

/**
 * The canonical form of all spellings of a path: percent-decoded until nothing
 * is left to decode, `\` as `/`, `;…` cut from every segment, dot segments
 * resolved (RFC 3986 section 5.2.4), slashes collapsed, a trailing slash and
 * `.xJson` dropped, in lower case. Malformed percent-encoding stays. Takes
 * time linear in the path.
 */
export function canonicalPath(path: string): string {
  return canonical(path).path;
}

export function canonical(path: string): Canonical {
  const decoded = decode(path);
  const text = foldWidely(decoded.text);
  const segments = resolveDots(text.replaceAll('\\', '/').split('/').map(withoutParameters));
  const suffixed = '/' + segments.join('/');
  dropSuffix(segments);
  return { path: '/' + segments.join('/'), suffixed, ambiguous: isAmbiguous(path, decoded), text };
}

/**
 * The possible segments of a path, in order. However a server decodes, cuts,
 * resolves and collapses the path, its segments are among these, in this
 * order.
 */
export function tokens(text: string): string[] {
  return foldWidely(decode(text).text).replace(/\p{Cc}/gu, '').split(/[/\\;?#]/).map((piece) => withoutSuffix(piece.trim())).filter(isNonEmpty);
}

function isAmbiguous(path: string, decoded: Decoded): boolean {
  // URL parsers strip control characters, and read a host after a leading `//`.
  if (/^\/\/|[\\;?#\p{Cc}]|(?:^|\/)\.{1,2}(?=\/|$)/u.test(decoded.text)) return true;
  // White space comes from a rewrite that decoded it; URL parsers and other decoders trim it.
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
    // The first segment, before the leading slash, is empty.
    else if (segment !== '.' && !(segment === '' && resolved.length === 0)) resolved.push(segment);
  }
  return resolved.filter(isNonEmpty);
}

/** Drops `.xJson`, and a dot segment that remains (`...xJson`). */
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

function isNonEmpty(text: string): boolean {
  return text !== '';
}
