import fc from 'fast-check';

/** Where the halves of pairs begin, which are no characters, and how many they are. */
const HALVES = 0xd800;
const HALF_COUNT = 0x800;

/**
 * Any character of Unicode, as the unit of `fc.string`. That of fast-check, "binary", is the same
 * from a table of all million of them, which each spec file would make anew in most of a second.
 */
export const anyCharacter = fc.nat(0x10ffff - HALF_COUNT).map(
  (place) => String.fromCodePoint(place < HALVES ? place : place + HALF_COUNT),
  (character) => {
    const code = typeof character === 'string' ? character.codePointAt(0) : undefined;
    if (code === undefined || (code >= HALVES && code < HALVES + HALF_COUNT) || character !== String.fromCodePoint(code)) throw new Error('no character');
    return code < HALVES ? code : code - HALF_COUNT;
  },
);
