import fc from 'fast-check';
import { createServer, type WebhookConfig } from 'waypost';
import { SignatureScope } from '../lib/signature/scope/scope';
import { runs } from './support/runs';

const RULES = { caseSensitive: true, ignoreTrailingSlash: false, ignoreDuplicateSlashes: false };

function start(...paths: string[]): void {
  const webhooks = paths.map((path): WebhookConfig => ({ path, preset: 'github', secret: 'the secret of these specs' }));
  createServer({ logging: { level: 'silent' }, security: { webhooks } });
}

/** The message of the refusal; empty where it starts. */
function refusal(...paths: string[]): string {
  try {
    start(...paths);
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('webhooks whose paths have one in common', () => {
  test.each([
    ['/hooks/:x', '/hooks/stripe'], ['/hooks/stripe', '/hooks/:x'], ['/h', '/H'], ['/h', '/h/'], ['/h', '//h'], ['/h/:a', '/h/:b'], ['/h/*', '/h/:b'], ['/a/:x/c', '/a/b/:y'],
    ['/h/**', '/h/a/b'], ['/h/**', '/h'], ['/a/**', '/a/'], ['/a/**', '/:x/b'], ['/:a.json', '/:b.json'], ['/:id(\\d+)', '/7'], ['/:id(\\d+)', '/:x'], ['/a/**/z', '/a/b/**'],
  ])('%s and %s throw', (one, other) => {
    expect(refusal('/else/where/it/is', one, other)).toContain(
      `security.webhooks[2].path must have no path in common with another webhook, and ${JSON.stringify(other)} has with ${JSON.stringify(one)}: a request to it would have to be signed both ways`,
    );
  });

  test.each([['/a', '/b'], ['/h/:x', '/h'], ['/h/:x', '/h/a/b'], ['/a/:x/c', '/a/b/d'], ['/:id(\\d+)', '/seven'], ['/:a.json', '/:a.xml'], ['/a/**', '/b/**'], ['/a/**/z', '/a/b']])(
    '%s and %s have none', (one, other) => {
      expect(refusal(one, other)).toBe('');
    },
  );

  test('are those for which some path is in both scopes', () => {
    const texts = ['a', 'b', 'B'];
    const segment = fc.constantFrom(...texts, ':x', '*', '**');
    const pattern = fc.array(segment, { maxLength: 3 }).filter((all) => all.filter((one) => one === '**').length < 2 && new Set(all.filter((one) => /[:*]/.test(one))).size === all.filter((one) => /[:*]/.test(one)).length)
      .map((all) => `/${all.join('/')}`);
    const words = ['a', 'b', 'c'];
    // Every path of up to four segments: where two patterns of three have one in common, they have one of these.
    const paths = ['/', ...[1, 2, 3, 4].flatMap((length) => Array.from({ length }).reduce<string[]>((all) => all.flatMap((path) => words.map((word) => `${path}/${word}`)), ['']))];
    let refused = 0;
    fc.assert(fc.property(pattern, pattern, (one, other) => {
      fc.pre(one !== other);
      const [first, second] = [one, other].map((path) => new SignatureScope([path], [], RULES));
      const common = paths.some((path) => first?.requires('POST', path) === true && second?.requires('POST', path) === true);
      const said = refusal(one, other);
      if (said !== '') refused++;
      expect([one, other, said !== '']).toEqual([one, other, common]);
    }), { numRuns: runs(250) });
    expect(refused).toBeGreaterThan(runs(250) / 20);
  });
});
