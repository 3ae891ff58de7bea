import fc from 'fast-check';
import { Chunks } from '../lib/http/chunks';
import { anyCharacter } from './support/any-character';
import { expectSame } from './support/expect-same';
import { runs } from './support/runs';

/** Bytes of a chunk. */
const SIZE = 65_536;

const unit = fc.constantFrom('a', 'é', '€', '😀', '\u0000', '"');
const length = fc.oneof(
  fc.integer({ min: 0, max: 40 }),
  fc.integer({ min: 1015, max: 1030 }),
  fc.integer({ min: SIZE / 4 - 6, max: SIZE / 4 + 6 }),
  fc.integer({ min: SIZE / 2 - 6, max: SIZE / 2 + 6 }),
  fc.integer({ min: SIZE - 12, max: SIZE + 12 }),
  fc.integer({ min: 2 * SIZE, max: 2 * SIZE + 12 }),
);
/** Texts that end in no half of a pair: JSON escapes those. */
const part = fc.oneof(
  fc.string({ unit: anyCharacter, maxLength: 30 }),
  fc.tuple(unit, length, unit).map(([fill, times, end]) => fill.repeat(times) + end),
  fc.tuple(fc.constantFrom('a', 'é', 'x'), length, fc.constantFrom('😀', '€')).map(([fill, times, next]) => fill.repeat(times) + next.repeat(9)),
);
const parts = fc.array(part, { maxLength: 12 });

function chunksOf(texts: readonly string[], isKept = true): Chunks {
  const chunks = new Chunks(isKept);
  for (const text of texts) chunks.add(text);
  return chunks;
}

/** All that is given away in these sizes, over and over. */
function takeAll(chunks: Chunks, sizes: readonly number[]): Buffer[] {
  const taken: Buffer[] = [];
  for (let i = 0, left = chunks.length; left > 0; i++) {
    const bytes = chunks.take(sizes[i % sizes.length] as number);
    taken.push(bytes);
    left -= bytes.length;
  }
  return taken;
}

describe('chunks', () => {
  it('are the UTF-8 of the joined text, in whatever sizes they are taken', () => {
    const size = fc.oneof(fc.integer({ min: 1000, max: 5000 }), fc.constantFrom(SIZE - 1, SIZE, SIZE + 1, 3 * SIZE, 1e9));
    fc.assert(
      fc.property(parts, fc.array(size, { minLength: 1, maxLength: 4 }), (texts, sizes) => {
        const expected = Buffer.from(texts.join(''));
        const chunks = chunksOf(texts);
        expect(chunks.length).toBe(expected.length);
        const taken = takeAll(chunks, sizes);
        expect(Buffer.concat(taken).equals(expected)).toBe(true);
        // Each but the last is as long as was asked for.
        taken.slice(0, -1).forEach((bytes, i) => expect(bytes.length).toBe(sizes[i % sizes.length]));
        expect(chunks.take(10)).toHaveLength(0);
      }),
      { numRuns: runs(75) },
    );
  });

  it('are so a byte at a time', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: anyCharacter, maxLength: 300, size: 'max' }), { maxLength: 8 }), fc.integer({ min: 1, max: 7 }), (texts, size) => {
        expect(Buffer.concat(takeAll(chunksOf(texts), [size])).toString()).toBe(texts.join(''));
      }),
    );
  });

  it('split no character, wherever it stands at the end of one', () => {
    for (const character of ['é', '€', '😀']) {
      for (let before = SIZE - 8; before <= SIZE + 2; before++) {
        for (const texts of [['x'.repeat(before) + character.repeat(3)], ['x'.repeat(before), character, character.repeat(2)], ['x'.repeat(before - 500), 'y'.repeat(500) + character.repeat(400)]]) {
          const chunks = chunksOf(texts);
          expectSame(chunks.take(chunks.length).toString(), texts.join(''));
        }
      }
    }
  });

  it('replace what is half of a pair, as Buffer.from does', () => {
    for (const before of [0, 5, 1100, SIZE - 3, SIZE - 1]) {
      for (const text of ['\ud83d', '\ude00', '\ude00\ud83d', 'a\ud83db']) {
        const texts = ['x'.repeat(before) + text, ' '];
        const chunks = chunksOf(texts);
        expect(chunks.take(chunks.length).equals(Buffer.from(texts.join('')))).toBe(true);
      }
    }
  });

  it('keep nothing of what was given away: a buffer is not written to again', () => {
    const chunks = chunksOf(['a'.repeat(3 * SIZE), 'b']);
    const first = chunks.take(10);
    const copy = Buffer.from(first);
    chunks.take(chunks.length);
    expect(first.equals(copy)).toBe(true);
  });

  it('that are only counted hold no bytes', () => {
    fc.assert(
      fc.property(parts, (texts) => {
        const chunks = chunksOf(texts, false);
        expect(chunks.length).toBe(Buffer.byteLength(texts.join('')));
        expect(chunks.take(1e9)).toHaveLength(0);
      }),
      { numRuns: runs(30) },
    );
  });

  it('forget what was before they were cleared, and begin anew', () => {
    fc.assert(
      fc.property(parts, parts, fc.boolean(), (before, after, isKept) => {
        const chunks = chunksOf(before, isKept);
        chunks.clear();
        expect(chunks.length).toBe(0);
        for (const text of after) chunks.add(text);
        const expected = Buffer.from(after.join(''));
        expect(chunks.length).toBe(expected.length);
        expect(chunks.take(expected.length).equals(isKept ? expected : Buffer.alloc(0))).toBe(true);
      }),
      { numRuns: runs(30) },
    );
  });
});
