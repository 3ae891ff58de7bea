import type { Secret } from './sign';

/** Answers the secrets of a key id; undefined, null, an empty text or an empty list where there is no such key. */
export type SecretLookup = (keyId: string) => SecretAnswer | Promise<SecretAnswer>;
/** What a lookup answers. */
export type SecretAnswer = string | readonly string[] | undefined | null;

/** Where the secrets that a signature is checked with come from. */
export interface SecretSource {
  /** Whether a request must name its key. */
  readonly named: boolean;
  /** The secrets that may have signed; none for a key that nobody has. */
  find(keyId: string | undefined): readonly Secret[] | Promise<readonly Secret[]>;
}
