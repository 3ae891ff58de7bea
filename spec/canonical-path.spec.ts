import fc from 'fast-check';
import { foldWidely } from '../lib/routing/patterns/case';
import { canonicalPath, tokens } from '../lib/signature/scope/canonical';
import { decode } from '../lib/target/decoding';
import { SignatureScope } from '../lib/signature/scope/scope';
import { runs } from './support/runs';
import { growth, workOf } from './support/work-meter';

const rules = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };

/** Round after round over the whole text, until one changes nothing: what takes a round a level is found so. */
function decodedByRounds(path: string): string {
  const escapes = (text: string): string => text.replace(/%[0-9a-fA-F]{2}/, (escape) => String.fromCharCode(parseInt(escape.slice(1), 16)));
  const characters = (text: string): string => text.replace(/[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}/g, (bytes) => {
    const character = Buffer.from(bytes, 'latin1').toString('utf8');
    return character.includes('\ufffd') ? bytes : character;
  });
  return settle(characters, settle(escapes, path)).replace(/%u[0-9a-f]{4}/gi, (unit) => unescape(unit.toLowerCase()));
}

function settle(round: (text: string) => string, text: string): string {
  for (let before = text; ;) {
    const after = round(before);
    if (after === before) return after;
    before = after;
  }
}

/** Bytes, of which some make up characters, some bytes of other characters, some nothing. */
const bytes = fc.constantFrom('\xc2', '\xc2', '\xc3', '\xc3', '\xdf', '\xe0', '\xe2', '\xe3', '\xed', '\xef', '\xf0', '\xf4', '\x80', '\x82', '\x83', '\x9f', '\xa0', '\xa3', '\xa9', '\xbf', '\xc1', '\xf5', '\xff', '_', '\u0101', '\u{1f600}', '\ud800');
const escaped = bytes.map((byte) => (byte <= '\xff' && byte !== '_' ? `%${byte.charCodeAt(0).toString(16)}` : byte));
const marks = fc.constantFrom('%', '%', '2', '5', '25', '33', '43', '3', '4', '%2', '%25', '%C2', '%a9', '_', '%u', '%U00', '63', '%u0063');

describe('the canonical form of a path', () => {
  test.each([
    ['bytes', fc.array(bytes, { maxLength: 14 })],
    ['escaped bytes', fc.array(fc.oneof(escaped, bytes), { maxLength: 10 })],
    ['escapes of escapes', fc.array(fc.oneof(marks, escaped), { maxLength: 14 })],
  ])('is what decoding round after round comes to: %s', (_, parts) => {
    fc.assert(
      fc.property(parts.map((each) => each.join('')), (path) => {
        const decoded = decodedByRounds(path);
        // Then decoding and folding is all that is done to it.
        fc.pre(!/[/\\;]/.test(decoded));
        expect(canonicalPath(`/_${path}`)).toBe(`/_${foldWidely(decoded)}`);
      }),
      { numRuns: runs(1000) },
    );
  });

  test('is deep where one pass of decoding leaves an escape', () => {
    const once = (path: string): string => path.replace(/%[0-9a-f]{2}/gi, (escape) => String.fromCharCode(parseInt(escape.slice(1), 16)));
    let deep = 0;
    fc.assert(
      fc.property(fc.array(fc.constantFrom('%', '%', '25', '32', '2', '5', '1', '%C2', '_'), { maxLength: 8 }), (parts) => {
        const path = `/${parts.join('')}`;
        const expected = /%(?:[0-9a-f]{2}|u[0-9a-f]{4})/i.test(once(path));
        if (expected) deep++;
        expect([path, decode(path).isDeep]).toEqual([path, expected]);
      }),
      { numRuns: runs(3000) },
    );
    expect(deep).toBeGreaterThan(5);
  });

  test.each([
    ['/%C2%C2%C2%C2%A9', '/\xa9'],
    ['/%E0%C2%C2%A0%C2%80', '/\u0800'],
    ['/%C3%A3%81%82', '/\u3042'],
    ['/%C3%C2%A3%81%82', '/\u3042'],
    ['/%E0%80%80%C2%C2%80', '/\xe0\x80\x80\x80'],
    ['/%25%32%35%36%31', '/a'],
  ])('of %s is %s', (path, form) => {
    expect(canonicalPath(path)).toBe(form);
  });
});

/** Paths whose parts bring each other forth, or that have much of what is looked for. */
const costly: Readonly<Record<string, (length: number) => string>> = {
  'continuations that collapse one by one': (length) => `/${'%C2'.repeat(length / 3)}%A9`,
  'the same beside bytes that are no character': (length) => `/${'\xe0\x80\x80'.repeat(length / 6)}${'\xc2'.repeat(length / 2)}\x80`,
  'leads that come forth one by one': (length) => `/${'%C3'.repeat(length / 3)}%83%82%A9`,
  'long characters': (length) => `/${'%F0%E0'.repeat(length / 6)}%C2%9F%98%80`,
  'escapes of escapes': (length) => `/%${'25'.repeat(length / 2)}`,
  'escapes of digits': (length) => `/${'%3'.repeat(length / 4)}${'3'.repeat(length / 2)}`,
  'malformed escapes': (length) => '/%C2'.repeat(length / 4),
  'dot segments': (length) => '/a'.repeat(length / 4) + '/..'.repeat(length / 6),
  'escaped dot segments': (length) => '/%2e%2e'.repeat(length / 7),
  'suffixes': (length) => `/${'.xJson'.repeat(length / 6)}`,
  'segments of suffixes': (length) => '/a/...xJson'.repeat(length / 11),
  'slashes': (length) => '/'.repeat(length),
  'backslashes': (length) => `/${'\\'.repeat(length)}`,
  'parameters of segments': (length) => '/;'.repeat(length / 2),
  'what nearly matches': (length) => `/a${'/b/c'.repeat(length / 4)}%2f`,
  'letters beyond ASCII': (length) => `/${'%C4%B0'.repeat(length / 6)}`,
  'dashes': (length) => `/${'a-/q/'.repeat(length / 5)};`,
  'a long host': (length) => `http://${'a'.repeat(length)}!`,
};

describe.each(Object.entries(costly))('%s', (_, make) => {
  test('take work that grows with the path, and with no square of it', () => {
    const scope = new SignatureScope(['/a/**/b/d', '/**/:x-:y/q', '/v/:a/**', { path: '/f/:name.json', methods: ['GET'] }], ['/pub/**/:x'], rules);
    expect(growth(make, canonicalPath)).toBeLessThan(40);
    expect(growth(make, tokens)).toBeLessThan(40);
    expect(growth(make, (path) => scope.requires('GET', path))).toBeLessThan(40);
  });

  test('are read once, however many entries are compared with them', () => {
    const work = (entries: number): number => {
      const scope = new SignatureScope(Array.from({ length: entries }, (__, i) => `/p${i}/*rest`), [], { ...rules, caseSensitive: false });
      const path = make(8192);
      return workOf(() => scope.requires('GET', path));
    };
    expect(work(40) / work(2)).toBeLessThan(3);
  });
});
