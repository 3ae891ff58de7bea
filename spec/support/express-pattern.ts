import fc from 'fast-check';

/** Random text of Express's pattern language, now and then none of it. */
export const patternText: fc.Arbitrary<string> = fc.tuple(
  fc.constantFrom('/', '/', '/', '/', '/', '/', ''),
  fc.letrec<{ piece: string; pieces: string }>((tie) => ({
    piece: fc.oneof(
      { maxDepth: 3, depthIdentifier: 'group' },
      { weight: 5, arbitrary: fc.constantFrom('/', '/', 'a', 'b', 'ab', '-', '.', 'A', 'é', '\\:', '\\*', '\\/') },
      { weight: 3, arbitrary: fc.constantFrom(':NAME', ':NAME', ':NAME-', ':NAME/', ':"NAME"') },
      { weight: 2, arbitrary: fc.constantFrom('*NAME', '*"NAME"', '*NAME/', '/*NAME') },
      { weight: 2, arbitrary: fc.tuple(tie('pieces')).map(([inner]) => `{${inner}}`) },
    ),
    pieces: fc.array(tie('piece'), { minLength: 1, maxLength: 5, depthIdentifier: 'group' }).map((pieces) => pieces.join('')),
  })).pieces,
).map(([start, rest]) => named(start + rest));

/** Gives each parameter a name of its own, that no text can become part of. */
function named(text: string): string {
  let count = 0;
  return text.replace(/([:*])("?)NAME("?)(?=(.?))/g, (_, kind: string, quote: string, end: string, next: string) => {
    const name = `n${count++}`;
    return quote === '' && /[\wé]/.test(next) ? `${kind}"${name}"` : `${kind}${quote}${name}${end}`;
  });
}

const VALUES = ['a', 'b', 'ab', '-', 'x-y', 'a--b', '.', 'a.b.c', 'a/b', '/', 'a/', 'A'];

/** Makes a path of a pattern: parts left out or kept, values put in, then perhaps spoilt. */
export const filled: fc.Arbitrary<(text: string) => string> = fc
  .record({
    kept: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
    values: fc.array(fc.constantFrom(...VALUES), { minLength: 12, maxLength: 12 }),
    spoil: fc.option(fc.record({ at: fc.nat(30), cut: fc.nat(1), put: fc.constantFrom('', '/', 'a', '-', 'x') })),
    end: fc.constantFrom('', '', '', '/', '/a', '//'),
    upper: fc.nat(9).map((number) => number === 0),
  })
  .map(({ kept, values, spoil, end, upper }) => (text) => {
    let path = text;
    let group = 0;
    for (let before = ''; before !== path;) {
      before = path;
      path = path.replace(/\{([^{}]*)\}/g, (_, inner: string) => (kept[group++ % kept.length] === true ? inner : ''));
    }
    let value = 0;
    path = path.replace(/\\(.)|[:*](?:"\w+"|\w+)/g, (_, escaped: string | undefined) => escaped ?? (values[value++ % values.length] as string));
    if (spoil !== null) path = path.slice(0, spoil.at) + spoil.put + path.slice(spoil.at + spoil.cut);
    path += end;
    if (upper) path = path.toUpperCase();
    return path.startsWith('/') ? path : `/${path}`;
  });
