/** Type tests of keys: compiled, never run. */
import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { expectTypeOf } from 'expect-type';
import type { NamedKey, SignatureKey, SignatureKeys } from 'waypost';

declare const pem: string;
const exported = createPublicKey(pem).export({ format: 'jwk' });

// All that a key may be, with what it does not say itself.
expectTypeOf<[string, KeyObject, JsonWebKey, NamedKey]>().toMatchTypeOf<SignatureKeys>();
expectTypeOf([{ kty: 'OKP', crv: 'Ed25519', x: 'a', kid: 'a', custom: 1 }, { ...exported, kid: 'b' }, { key: pem, id: 'c' }, { key: exported, algorithm: 'ed25519' as const }]).toMatchTypeOf<SignatureKeys>();
expectTypeOf({ jwks: 'https://keys.example/jwks' }).toMatchTypeOf<SignatureKeys>();

// @ts-expect-error -- no member of a key
export const id: SignatureKey = { key: pem, ID: 'a' };
// @ts-expect-error -- likewise
export const algorithm: SignatureKey = { key: pem, algorithmm: 'ed25519' };
// @ts-expect-error -- likewise
export const key: SignatureKey = { keey: pem, id: 'a' };
// @ts-expect-error -- likewise, among several
export const several: SignatureKeys = [pem, { key: pem, id: 'a' }, { key: pem, keyid: 'b' }];
