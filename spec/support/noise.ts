import { createHash } from 'node:crypto';

let made = 0;

/** Bytes that look like chance, by the seed of this run; others at each call. */
export function noise(length: number): Buffer {
  const hash = createHash('shake256', { outputLength: length });
  return hash.update(`${process.env['SPEC_SEED']} ${made++}`).digest();
}
