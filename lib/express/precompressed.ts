import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import { accepts } from '../packages';

/** Content codings of files that are compressed beforehand, and the extensions that those have. */
const EXTENSIONS = { zstd: '.zst', br: '.br', gzip: '.gz' } as const;

/** A content coding of precompressed files. */
export type FileCoding = keyof typeof EXTENSIONS;

/** A compressed file beside another. */
export interface Variant {
  readonly coding: FileCoding;
  readonly extension: string;
}

/** @throws TypeError for what is no list of codings. */
export function checkPrecompressed(given: unknown): readonly FileCoding[] {
  if (!Array.isArray(given) || !given.every((each) => Object.hasOwn(EXTENSIONS, each as PropertyKey))) {
    throw new TypeError(`static: precompressed must be an array of 'zstd', 'br' and 'gzip', got ${inspect(given)}`);
  }
  return [...given as FileCoding[]];
}

/** The variants that a client has asked for, the best first: by its q-values, and of those alike in the order of the list (RFC 9110 section 12.5.3). */
export function variantsFor(req: IncomingMessage, codings: readonly FileCoding[]): Variant[] {
  const { negotiator } = accepts()(req) as unknown as { readonly negotiator: { encodings(available: readonly string[], options: { preferred: readonly string[] }): string[] } };
  const available = [...codings, 'identity'];
  const taken = negotiator.encodings(available, { preferred: available });
  // A client that likes the file itself better gets that.
  const end = taken.indexOf('identity');
  return (end === -1 ? taken : taken.slice(0, end)).map((coding) => ({ coding: coding as FileCoding, extension: EXTENSIONS[coding as FileCoding] }));
}
