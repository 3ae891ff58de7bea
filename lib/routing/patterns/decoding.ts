import { HttpError } from '../../errors';

/** Lower-case escapes that decodeURI leaves encoded. */
const LOWER_ESCAPE = /%(?:2[bcf]|3[abdf])/;
/** One replacement for each escape: no call for each of thousands of matches. V8 replaces expressions faster than text. */
const LOWER_ESCAPES = ['2b', '2c', '2f', '3a', '3b', '3d', '3f'].map((digits) => [new RegExp(`%${digits}`, 'g'), `%${digits.toUpperCase()}`] as const);
/** The escapes of `$ & + , : ; = @`. */
const RESERVED_ESCAPE = /%(?:2[46bc]|3[abd]|40)/gi;
/** First code unit of the low surrogates. */
const LOW_SURROGATES = 0xdc00;
/** Lone low surrogates, into which {@link decodeKeepingReserved} makes those escapes. */
const LONE_SURROGATES = /(?<![\ud800-\udbff])[\udc24-\udc40]/g;
/**
 * Text whose percent-encoding is UTF-8 (RFC 3629 section 4), as the decoders of
 * ECMA-262 require. A test instead of a catch: an exception takes microseconds,
 * and one target can hold thousands of malformed segments.
 */
const ENCODED_UTF8 = new RegExp(
  '^(?:[^%]|%[0-7]x|%(?:c[2-9a-f]|dx)%T|%e0%[ab]x%T|%(?:e[1-9abcef])%T%T|%ed%[89]x%T|%f0%[9ab]x%T%T|%f[123]%T%T%T|%f4%8x%T%T)*$'
    .replaceAll('T', '[89ab]x').replaceAll('x', '[0-9a-f]'),
  'i',
);

/** Returns true for text whose percent-encoding is all UTF-8. */
export function isWellEncoded(text: string): boolean {
  return ENCODED_UTF8.test(text);
}

/**
 * Decodes a segment for comparing with static text: reserved characters and
 * `%` stay encoded (upper-case hexadecimal). A malformed segment stays as it
 * is: no pattern can hold such text, so it equals none.
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
 * Decodes a segment for comparing with text beside a parameter. The escape of a
 * reserved character becomes a lone surrogate, which nothing else decodes to,
 * and so equals no text.
 */
export function decodeKeepingReserved(segment: string): string {
  if (!segment.includes('%') || !ENCODED_UTF8.test(segment)) return segment;
  return decodeURIComponent(segment.replace(RESERVED_ESCAPE, (escape) => String.fromCharCode(LOW_SURROGATES + parseInt(escape.slice(1), 16))));
}

/** Restores the reserved characters in a capture of {@link decodeKeepingReserved}. */
export function restoreReserved(text: string): string {
  return text.replace(LONE_SURROGATES, (unit) => String.fromCharCode(unit.charCodeAt(0) - LOW_SURROGATES));
}

/**
 * Decodes the segments that a `**` captured. An encoded slash stays encoded, so
 * that a `/` in the capture is always a segment boundary.
 */
function decodeSegments(segments: readonly string[]): string | undefined {
  const joined = segments.join('/');
  if (!joined.includes('%')) return joined;
  return decodeSegment(joined.replace(/%2f/gi, '%252F'));
}

/** Decodes a captured value. @throws HttpError 400 when `strict` and its percent-encoding is malformed; else it is as sent. */
export function decodeCapture(raw: string, strict: boolean): string {
  return decodeSegment(raw) ?? refuse(raw, strict);
}

/** Decodes the capture of a `**` as {@link decodeCapture} does. */
export function decodeDeepCapture(segments: readonly string[], strict: boolean): string {
  return decodeSegments(segments) ?? refuse(segments.join('/'), strict);
}

function refuse(raw: string, strict: boolean): string {
  if (strict) throw HttpError.of('MALFORMED_PATH');
  return raw;
}
