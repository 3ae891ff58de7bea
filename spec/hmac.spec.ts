import * as crypto from 'node:crypto';
import fc from 'fast-check';
import { HmacKey } from '../lib/signature/hmac';
import { anyCharacter } from './support/any-character';
import { noise } from './support/noise';

const algorithm = fc.constantFrom('sha256' as const, 'sha512' as const);
/** Around the sizes of a block, past which a key is hashed first. */
const secret = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 300 }),
  fc.constantFrom(63, 64, 65, 127, 128, 129).map((length) => Buffer.alloc(length, 0xa5)),
  fc.string({ minLength: 1, maxLength: 80, unit: anyCharacter }),
);
const text = fc.string({ maxLength: 60, unit: anyCharacter });
const body = fc.oneof(fc.constant(undefined), text, fc.uint8Array({ maxLength: 3000 }));

function reference(hash: string, key: string | Uint8Array, ...parts: (string | Uint8Array | undefined)[]): string {
  const hmac = crypto.createHmac(hash, key);
  for (const part of parts) if (part !== undefined) hmac.update(part);
  return hmac.digest('hex');
}

// RFC 4231 sections 4.2, 4.3 and 4.7: keys shorter than a digest, of text, and longer than a block.
const VECTORS = [
  [Buffer.alloc(20, 0x0b), 'Hi There', 'b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7'],
  ['Jefe', 'what do ya want for nothing?', '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843'],
  [Buffer.alloc(131, 0xaa), 'Test Using Larger Than Block-Size Key - Hash Key First', '60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54'],
] as const;

test.each(VECTORS)('gives what RFC 4231 gives (%#)', (key, data, expected) => {
  expect(new HmacKey('sha256', key).digest(data, undefined, '')).toBe(expected);
  expect(new HmacKey('sha256', key).digest('', data, '')).toBe(expected);
});

test('gives what createHmac gives, again and again with one key', () => {
  fc.assert(fc.property(algorithm, secret, fc.array(fc.tuple(text, body, text), { minLength: 1, maxLength: 4 }), (hash, given, messages) => {
    const key = new HmacKey(hash, given);
    for (const [head, middle, tail] of messages) {
      expect(key.digest(head, middle, tail)).toBe(reference(hash, given, head, middle, tail));
    }
  }), { numRuns: 2000 });
});

test.each([4000, 4075, 4076, 4077, 4096, 4097, 65_536, 1_000_000])('gives the same for a body of %i bytes, each time', (length) => {
  const bytes = noise(length);
  const key = new HmacKey('sha256', 'secret');
  for (let i = 0; i < 3; i++) expect(key.digest('POST/', bytes, '1')).toBe(reference('sha256', 'secret', 'POST/', bytes, '1'));
});
