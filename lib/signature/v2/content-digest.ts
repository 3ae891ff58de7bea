import { crypto } from '../../packages';
import { canonicalDictionary } from './dictionary';

/** A member of a `Content-Digest` header. */
export interface ContentDigest {
  readonly hash: 'sha256' | 'sha512';
  readonly bytes: Buffer;
}

/** The active hashes of RFC 9530 section 5, with their length in bytes. */
const HASHES = new Map([
  ['sha-256', { hash: 'sha256', length: 32 }],
  ['sha-512', { hash: 'sha512', length: 64 }],
] as const);

/** The value of `Content-Digest` (RFC 9530 section 2) with SHA-256, for a body as sent. */
export function contentDigest(body: string | Uint8Array): string {
  return `sha-256=:${crypto().createHash('sha256').update(body).digest('base64')}:`;
}

/** Longest header: both digests, and one of another algorithm, which is ignored. */
const MAX_LENGTH = 512;

/**
 * The secure digests of a `Content-Digest` header. Undefined if there is none,
 * or one is malformed. Deprecated hashes (`md5`, `sha` and others of RFC 9530
 * section 5) are ignored.
 */
export function parseContentDigest(text: string): readonly ContentDigest[] | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  const dictionary = canonicalDictionary(text);
  if (dictionary === undefined) return undefined;
  const digests: ContentDigest[] = [];
  for (const [name, { hash, length }] of HASHES) {
    const member = dictionary.get(name);
    if (member === undefined) continue;
    const [value, parameters] = member;
    if (!(value instanceof ArrayBuffer) || value.byteLength !== length || parameters.size > 0) return undefined;
    digests.push({ hash, bytes: Buffer.from(value) });
  }
  return digests.length > 0 ? digests : undefined;
}

/** True if every digest is the body's. Bytes are hashed undecoded: distinct bytes may decode to one text. */
export function digestsMatch(digests: readonly ContentDigest[], body: Uint8Array): boolean {
  // Digests are public, so the comparison need not take constant time.
  return digests.length > 0 && digests.every(({ hash, bytes }) => crypto().createHash(hash).update(body).digest().equals(bytes));
}
