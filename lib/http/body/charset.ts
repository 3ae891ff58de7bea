import { isAscii } from 'node:buffer';
import { TextDecoder } from 'node:util';

/** Bytes from which it pays to ask whether all are ASCII: those become text in half the time, of a megabyte in a tenth. */
const LONG = 4096;
/** How many characters are looked at for the order of their bytes. */
const SAMPLE = 100;

/** Makes text of the bytes of a body. */
export interface Charset {
  /** True for an encoding of Unicode. */
  readonly unicode: boolean;
  decode(bytes: Buffer): string;
}

/**
 * The charset that a Content-Type names, by the labels of the WHATWG's
 * Encoding Standard; undefined for one that is not supported.
 * @param label UTF-8 where there is none.
 */
export function charsetOf(label: string | undefined): Charset | undefined {
  const name = label?.trim().toLowerCase();
  if (name === undefined || name === '' || name === 'utf-8') return UTF8;
  // There it is little-endian; by RFC 2781 section 4.3 a mark says which, and Express goes by it.
  if (name === 'utf-16') return UTF16;
  try {
    return namedCharset(name);
  } catch {
    return undefined;
  }
}

/** Decoded by Buffer, which is faster. */
const UTF8: Charset = {
  unicode: true,
  decode(bytes) {
    const text = bytes.toString(bytes.length >= LONG && isAscii(bytes) ? 'latin1' : 'utf8');
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  },
};

const UTF16: Charset = {
  unicode: true,
  decode: (bytes) => new TextDecoder(isBigEndian(bytes) ? 'utf-16be' : 'utf-16le').decode(bytes),
};

/** @throws RangeError for a label that is none. */
function namedCharset(label: string): Charset {
  const decoder = new TextDecoder(label);
  return {
    unicode: decoder.encoding.startsWith('utf-'),
    // In two steps: in one, Node 20 reads windows-1252 as Latin-1 and loses the euro sign.
    decode: (bytes) => decoder.decode(bytes, { stream: true }) + decoder.decode(),
  };
}

/** By the mark; without one by where the zeros of ASCII characters stand, as iconv-lite does for body-parser. */
function isBigEndian(bytes: Buffer): boolean {
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return true;
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return false;
  let big = 0;
  for (let at = 0; at + 1 < bytes.length && at < 2 * SAMPLE; at += 2) {
    if (bytes[at] === 0 && bytes[at + 1] !== 0) big++;
    if (bytes[at] !== 0 && bytes[at + 1] === 0) big--;
  }
  return big > 0;
}
