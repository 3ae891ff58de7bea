import { isDeepStrictEqual } from 'node:util';
import express from 'express';
import fc from 'fast-check';
import type { Path } from '../lib/routing/given-path';
import { Router } from '../lib/routing/router';
import { filled, patternText } from './support/express-pattern';
import { routed, rulesOf } from './support/routed';
import { runs } from './support/runs';

/** One registration, behind mounts. */
interface Entry {
  readonly kind: 'get' | 'all' | 'use';
  readonly mounts: readonly Path[];
  readonly path: Path | readonly Path[];
}

/** What ran, and what it saw. */
interface Visit {
  readonly index: number;
  readonly params: Record<string, unknown>;
  readonly base: string;
}

const RULES = rulesOf({ caseSensitive: false, ignoreTrailingSlash: true, ignoreDuplicateSlashes: false, asExpress: true });

/** Expressions of all kinds: anchored or not, with names or without. */
const EXPRESSIONS: readonly RegExp[] = [
  /a/, /^\/a/, /\/a$/, /^\/(a|b)/, /^\/([^/]+)\/(?<name>[^/]+)$/, /.*/, /^\/(.*)\.(.*)$/, /^\/a\/?(b)?/i, /\/(\w+)\//, /^\/ab/, /(?:)/, /^\/[^/]+\/[^/]+/, /(?=b)/, /^(?<all>\/.*)$/, /^\/(?<n0>[a-z-]+)/, /\//,
];

const text = patternText.filter((written) => {
  if (!/^[/*{]/.test(written) || /[:*]"/.test(written) || /\\/.test(written)) return false;
  try {
    new Router().use(written, () => undefined);
    express.Router().use(written, () => undefined);
    return true;
  } catch {
    return false;
  }
});
const path = fc.oneof({ weight: 3, arbitrary: text }, { weight: 2, arbitrary: fc.constantFrom('/', '/a', '/:x', '/a/:x', '/b', '/:x/:y') }, { weight: 2, arbitrary: fc.constantFrom(...EXPRESSIONS) });
const entries = fc.array(fc.record<Entry>({
  kind: fc.constantFrom('get', 'all', 'use'),
  mounts: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 3, arbitrary: fc.array(path, { minLength: 1, maxLength: 2 }) }),
  path: fc.oneof({ weight: 5, arbitrary: path }, { weight: 1, arbitrary: fc.array(path, { minLength: 2, maxLength: 3 }) }),
// Where one of several paths of middleware is an expression that matches no whole segments, Express looks at none of the others.
}).filter(({ kind, path: own }) => kind !== 'use' || !Array.isArray(own) || own.every((each) => typeof each === 'string')), { minLength: 1, maxLength: 6 });

/** A path for a registration: what its patterns make, what its expressions might take. */
const derived = fc.record({ from: fc.nat(5), fill: filled, words: fc.constantFrom('/a', '/b', '/ab', '/a/b', '/x/y', '/a.b', '/a/b/c', '/A/B', '/x') }).map(({ from, fill, words }) => (list: readonly Entry[]) => {
  const { mounts, path: own } = list[from % list.length] as Entry;
  const written = [...mounts, Array.isArray(own) ? own[0] : own].map((part) => (typeof part === 'string' ? part : words)).join('');
  return fill(written).replace(/\/{2,}/g, '/').replace(/[?#]/g, 'q');
});

interface AnyRouter {
  use(path: unknown, ...handlers: unknown[]): unknown;
  get(path: unknown, ...handlers: unknown[]): unknown;
  all(path: unknown, ...handlers: unknown[]): unknown;
}

/** Makes the same of either make of routers. */
function build(list: readonly Entry[], make: () => AnyRouter, visits: Visit[]): AnyRouter {
  const root = make();
  list.forEach(({ kind, mounts, path: own }, index) => {
    const innermost = mounts.reduce((outer, mount) => {
      const router = make();
      outer.use(mount, router);
      return router;
    }, root);
    innermost[kind](own, (req: { params: Record<string, unknown>; baseUrl: string }, _res: unknown, next: () => void) => {
      visits.push({ index, params: { ...req.params }, base: req.baseUrl });
      next();
    });
  });
  return root;
}

class Theirs {
  readonly #visits: Visit[] = [];
  readonly #router: express.Router;

  constructor(list: readonly Entry[]) {
    this.#router = build(list, () => express.Router({ mergeParams: true }) as unknown as AnyRouter, this.#visits) as unknown as express.Router;
  }

  async visits(url: string): Promise<Visit[]> {
    this.#visits.length = 0;
    const req = { method: 'GET', url } as express.Request;
    await new Promise<void>((resolve, reject) => this.#router(req, {} as express.Response, (error?: unknown) => (error ? reject(error as Error) : resolve())));
    return [...this.#visits];
  }
}

class Ours {
  readonly #visits: Visit[] = [];
  readonly #router: Router;
  readonly #list: readonly Entry[];

  constructor(list: readonly Entry[]) {
    this.#list = list;
    this.#router = build(list, () => new Router({ mergeParams: true }) as unknown as AnyRouter, this.#visits) as unknown as Router;
  }

  async visits(url: string): Promise<Visit[]> {
    this.#visits.length = 0;
    const { taken: told, error } = await routed(this.#router, url, RULES);
    if (error !== undefined) throw error;
    const taken = this.#visits.some(({ index }) => this.#list[index]?.kind !== 'use');
    if (told !== taken) throw new Error(`${url} is ${taken ? '' : 'not '}taken by a route`);
    return [...this.#visits];
  }
}

describe('random routes, middleware and mounts', () => {
  it('run and see what they do in Express', async () => {
    let pairs = 0;
    let matched = 0;
    await fc.assert(
      fc.asyncProperty(entries, fc.array(derived, { minLength: 12, maxLength: 12 }), async (list, paths) => {
        const [theirs, ours] = [new Theirs(list), new Ours(list)];
        for (const make of paths) {
          const url = make(list);
          const wanted = await theirs.visits(url);
          const got = await ours.visits(url);
          pairs++;
          if (wanted.length > 0) matched++;
          if (!isDeepStrictEqual(got, wanted)) throw new Error(`${url}\n  wanted ${JSON.stringify(wanted)}\n  got    ${JSON.stringify(got)}\n  of ${list.map(({ kind, mounts, path: own }) => `${kind} ${[...mounts, own].map((each) => (Array.isArray(each) ? `[${each.join(', ')}]` : String(each))).join(' ')}`).join('; ')}`);
        }
      }),
      { numRuns: runs(400) },
    );
    expect(matched / pairs).toBeGreaterThan(0.4);
  });
});
