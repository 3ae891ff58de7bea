import { HttpError } from '../../errors';

/** Whether something is in a text that decodeURI leaves encoded, and that a client has sent in lower case. */
const LOWER_ESCAPE = /%(?:2[bcf]|3[abdf])/;
/** Each by itself, without a function for each that is found: a client may send thousands. V8 replaces them faster by an expression than by a text. */
const LOWER_ESCAPES = ['2b', '2c', '2f', '3a', '3b', '3d', '3f'].map((digits) => [new RegExp(`%${digits}`, 'g'), `%${digits.toUpperCase()}`] as const);
/** The escapes of `$ & + , : ; = @`. */
const RESERVED_ESCAPE = /%(?:2[46bc]|3[abd]|40)/gi;
/** Where the second halves of surrogate pairs begin. */
const APART = 0xdc00;
/** What stands for those escapes: such a half without its first. */
const HALVES = /(?<![\ud800-\udbff])[\udc24-\udc40]/g;
/**
 * Text whose percent-encoding stands for UTF-8, by the grammar of RFC 3629
 * section 4; what the decoders of ECMA-262 take. Asked instead of caught: an
 * exception takes microseconds, and a client can send thousands of malformed
 * segments in one target.
 */
const ENCODED_UTF8 = new RegExp(
  '^(?:[^%]|%[0-7]x|%(?:c[2-9a-f]|dx)%T|%e0%[ab]x%T|%(?:e[1-9abcef])%T%T|%ed%[89]x%T|%f0%[9ab]x%T%T|%f[123]%T%T%T|%f4%8x%T%T)*$'
    .replaceAll('T', '[89ab]x').replaceAll('x', '[0-9a-f]'),
  'i',
);

/** Whether all percent-encoding in a text stands for UTF-8. */
export function isWellEncoded(text: string): boolean {
  return ENCODED_UTF8.test(text);
}

/**
 * Decodes a segment for comparing with static text: reserved characters and
 * `%` stay encoded (upper-case hexadecimal). Malformed encoding leaves the
 * segment as it is; no pattern can hold such text, so it equals none.
 */
export function decodeStatic(segment: string): string {
  if (!segment.includes('%') || !ENCODED_UTF8.test(segment)) return segment;
  let text = decodeURI(segment.replace(/%25/g, '%2525'));
  if (LOWER_ESCAPE.test(text)) for (const [lower, upper] of LOWER_ESCAPES) text = text.replace(lower, upper);
  return text;
}

/** Decodes one captured segment; undefined when its percent-encoding is malformed. */
export function decodeSegment(segment: string): string | undefined {
  if (!segment.includes('%')) return segment;
  return ENCODED_UTF8.test(segment) ? decodeURIComponent(segment) : undefined;
}

/**
 * Decodes a segment as it is compared with text beside a parameter: a reserved
 * character that was sent as an escape becomes half of a surrogate pair, which
 * nothing else decodes to, and so equals no text.
 */
export function decodeApart(segment: string): string {
  if (!segment.includes('%') || !ENCODED_UTF8.test(segment)) return segment;
  return decodeURIComponent(segment.replace(RESERVED_ESCAPE, (escape) => String.fromCharCode(APART + parseInt(escape.slice(1), 16))));
}

/** Puts the characters themselves back into what was captured of it. */
export function joinApart(text: string): string {
  return text.replace(HALVES, (half) => String.fromCharCode(half.charCodeAt(0) - APART));
}

/**
 * Decodes the segments that a `**` took. An encoded slash stays encoded, so
 * that a `/` in the capture is always a segment boundary.
 */
function decodeSegments(segments: readonly string[]): string | undefined {
  const joined = segments.join('/');
  if (!joined.includes('%')) return joined;
  return decodeSegment(joined.replace(/%2f/gi, '%252F'));
}

/** A captured value. @throws HttpError 400 when `strict` and its percent-encoding is malformed; else it is as sent. */
export function decoded(raw: string, strict: boolean): string {
  return decodeSegment(raw) ?? refuse(raw, strict);
}

/** What a `**` took, decoded, as {@link decoded} has it. */
export function decodedDeep(segments: readonly string[], strict: boolean): string {
  return decodeSegments(segments) ?? refuse(segments.join('/'), strict);
}

function refuse(raw: string, strict: boolean): string {
  if (strict) throw HttpError.of('MALFORMED_PATH');
  return raw;
}
