import { isDeepStrictEqual } from 'node:util';
import type { RequestListener } from 'node:http';
import theirs from 'express';
import fc from 'fast-check';
import { createServer, type ErrorHandler, express, type Handler, Router } from 'waypost';
import { runs } from './support/runs';
import { Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const silent = { logging: { level: 'silent' } } as const;

/** What any of the frameworks has, as far as these programs use it. */
interface AnyRouter {
  use(...given: unknown[]): unknown;
  get(...given: unknown[]): unknown;
}

interface AnyRequest {
  url: string;
  readonly baseUrl: string;
  readonly params: Record<string, unknown>;
  readonly headers: Record<string, unknown>;
}
interface AnyResponse {
  end(text: string): void;
}

/** Parameters of the mount paths below. */
const OF_MOUNTS: ReadonlySet<string> = new Set(['v', 'w']);

/** A router: where it is mounted, what makes another target in it, the guards and routes below that, and a router within. */
interface Mounted {
  readonly mount: string | RegExp | readonly string[];
  readonly merges: boolean;
  readonly rewrite: Rewrite;
  readonly guards: readonly string[];
  readonly routes: readonly string[];
  readonly within: Mounted | null;
}
interface Rewrite {
  readonly name: string;
  readonly make: (url: string) => string;
}

const REWRITES: readonly Rewrite[] = [
  { name: 'none', make: (url) => url },
  { name: 'less /en', make: (url) => url.replace(/^\/en(?=\/)/, '') },
  { name: 'more /en', make: (url) => (url.startsWith('/en') ? url : `/en${url}`) },
  { name: 'more /9', make: (url) => (/^\/\d/.test(url) ? url : `/9${url}`) },
  { name: 'to /9/secret', make: () => '/9/secret' },
  { name: 'to /secret', make: () => '/secret' },
  { name: 'less a segment', make: (url) => url.replace(/^\/[^/?]+(?=\/)/, '') },
];
/** As programs make them that take off so many characters. */
const BARE_REWRITES: readonly Rewrite[] = [
  { name: 'less 3 characters', make: (url) => (url.startsWith('/en') ? url.slice(3) : url) },
  { name: 'less a slash', make: (url) => (url.length > 1 ? url.slice(1) : url) },
  { name: 'a word', make: () => '9' },
];
const MOUNTS: readonly Mounted['mount'][] = [
  '/t', '/t/:v', '/t{/:v}', '/t{/en}', ['/t/:v/x', '/t'], ['/t/en', '/t'], ['/t/en', '/t/:v', '/t'], /^\/t(?:\/(?<v>\d+))?/, /^\/t(?:\/\w\w(?=\/))?/, '/t{/*w}', '/',
];
const INNER: readonly Mounted['mount'][] = ['/en', '{/:w}', ['/:w/secret', '/'], '/', /^\/(?<w>\d)?/];

function mounted(mounts: readonly Mounted['mount'][], rewrites: readonly Rewrite[], within: fc.Arbitrary<Mounted | null>): fc.Arbitrary<Mounted> {
  return fc.record({
    mount: fc.constantFrom(...mounts),
    merges: fc.boolean(),
    rewrite: fc.constantFrom(...rewrites),
    guards: fc.subarray(['/', '/en', '/9', '/:g'], { minLength: 1 }),
    routes: fc.subarray(['/', '/secret', '/9/secret', '/en/secret', '/:a', '/:a/:b']),
    within,
  });
}
function program(rewrites: readonly Rewrite[]): fc.Arbitrary<Mounted> {
  return mounted(MOUNTS, rewrites, fc.option(mounted(INNER, rewrites, fc.constant(null))));
}
const targets = fc.array(fc.constantFrom('/t', '/en', '/9', '/7', '/x', '/secret', '/en9', '/e'), { minLength: 0, maxLength: 4 }).map((parts) => `/t${parts.join('')}`);

/** Paths of middleware that take nothing of the target at their place. */
const OWN_PATHS: readonly [string, unknown][] = [
  '/', ['/', '/home'], ['/v', '/'], ['/', /zz/], '/{v}', '{/v}', '{/:v}', '{/*w}', /.*/, /^\/?/, /(?:)/, /^(?=\/)/, /^(\/v\d)?/, /^/,
].map((path) => [Array.isArray(path) ? path.join(', ') : String(path), path]);

/** What is called, as it sees the request. A slash at the end is left out: Express takes one off by and by that it has added. */
type Note = readonly [name: string, level: number, base: string, params: Record<string, unknown>, url: string];

/** Adds a program to what is at hand. */
function build(root: AnyRouter, given: Mounted, makeRouter: (merges: boolean) => AnyRouter, notes: Note[]): void {
  const note = (name: string, level: number, req: AnyRequest): void => void notes.push([name, level, req.baseUrl, { ...req.params }, req.url.replace(/(?<=.)\/$/, '')]);
  const add = (outer: AnyRouter, { mount, merges, rewrite, guards, routes, within }: Mounted, level: number): void => {
    const router = makeRouter(merges);
    router.use((req: AnyRequest, _res: unknown, next: () => void) => {
      note('entry', level, req);
      next();
    });
    router.use((req: AnyRequest, _res: unknown, next: () => void) => {
      req.url = rewrite.make(req.url);
      next();
    });
    for (const path of guards) {
      router.use(path, (req: AnyRequest, _res: unknown, next: () => void) => {
        note(`guard ${path}`, level, req);
        next();
      });
    }
    for (const path of routes) {
      router.get(path, (req: AnyRequest, res: AnyResponse, next: () => void) => {
        note(`route ${path}`, level, req);
        if (path.includes('secret')) res.end('reached');
        else next();
      });
    }
    if (within !== null) add(router, within, level + 1);
    outer.use(mount, (req: AnyRequest, _res: unknown, next: () => void) => {
      note('gate', level, req);
      next();
    });
    outer.use(mount, router);
  };
  add(root, given, 0);
  root.use((req: AnyRequest, res: AnyResponse) => {
    note('behind', -1, req);
    res.end('behind');
  });
}

/** What is called for each target in turn. */
async function notesOf(app: unknown, notes: Note[], urls: readonly string[]): Promise<Note[][]> {
  const port = await running.serve(app as RequestListener);
  const found: Note[][] = [];
  for (const url of urls) {
    notes.length = 0;
    await ask(port, url);
    found.push([...notes]);
  }
  await running.close();
  return found;
}

/** Of several paths createServer takes for each layer the first by which that is reached. */
function withOnePath(given: Mounted): Mounted {
  return { ...given, mount: Array.isArray(given.mount) ? given.mount[0] as string : given.mount, within: given.within && withOnePath(given.within) };
}

describe('a mount path that the target made in its router would match otherwise', () => {
  test('is, in an Express program, the part of the target that it was entered by', async () => {
    // What stands above a rewrite, and would have met the new target, runs in waypost; see docs/routing.md#rewrites.
    const comparable = program(REWRITES).map((given) => (given.within === null ? given : { ...given, guards: ['/'] }));
    await fc.assert(fc.asyncProperty(comparable, fc.array(targets, { minLength: 1, maxLength: 6 }), async (given, urls) => {
      const notes: Note[] = [];
      const [app, wanted] = [express(silent), theirs()];
      build(app as unknown as AnyRouter, given, (mergeParams) => express.Router({ mergeParams }) as unknown as AnyRouter, notes);
      build(wanted, given, (mergeParams) => theirs.Router({ mergeParams }), notes);
      const [ours, express5] = [await notesOf(app, notes, urls), await notesOf(wanted, notes, urls)];
      if (!isDeepStrictEqual(ours, express5)) expect({ urls, notes: ours }).toEqual({ urls, notes: express5 });
    }), { numRuns: runs(250) });
  });

  test('leads to no route that the guards of its router were not asked about', async () => {
    const makes: Record<string, () => { app: AnyRouter; makeRouter: (merges: boolean) => AnyRouter }> = {
      createServer: () => ({ app: createServer(silent) as unknown as AnyRouter, makeRouter: () => Router() as unknown as AnyRouter }),
      express: () => ({ app: express(silent) as unknown as AnyRouter, makeRouter: (mergeParams) => express.Router({ mergeParams }) as unknown as AnyRouter }),
    };
    await fc.assert(fc.asyncProperty(program([...REWRITES, ...BARE_REWRITES]), fc.array(targets, { minLength: 1, maxLength: 6 }), fc.constantFrom(...Object.keys(makes)), async (given, urls, make) => {
      const notes: Note[] = [];
      const { app, makeRouter } = (makes[make] as NonNullable<typeof makes[string]>)();
      build(app, make === 'express' ? given : withOnePath(given), makeRouter, notes);
      for (const found of await notesOf(app, notes, urls)) {
        found.forEach(([name, level, base, params], index) => {
          if (!name.startsWith('route')) return;
          const asked = (who: string): Note => found.slice(0, index).findLast(([before, at]) => before === who && at === level) as Note;
          const used = Object.fromEntries(Object.entries(params).filter(([key]) => OF_MOUNTS.has(key)));
          expect({ urls, make, name, base, used }).toEqual({ urls, make, name, base: asked('entry')[2], used: { ...asked('entry')[3], ...used } });
          expect({ urls, make, name, used: { ...asked('entry')[3], ...used } }).toEqual({ urls, make, name, used: asked('entry')[3] });
          // What stands before the router, and has run, has seen the first target only: createServer does not keep to the mount path of that.
          if (make === 'express') expect({ urls, name, base }).toEqual({ urls, name, base: asked('gate')[2] });
        });
      }
    }), { numRuns: runs(250) });
  });

  test.each(['express', 'createServer'] as const)('is no longer by what is put behind it without a slash: %s', async (make) => {
    const [app, router] = make === 'express' ? [express(silent), express.Router({ mergeParams: true })] : [createServer(silent), Router()];
    const own = (req: AnyRequest, res: AnyResponse, next: () => void): void => (req.headers['tenant'] === req.params['v'] ? next() : res.end('not yours'));
    const root = app as unknown as AnyRouter;
    (router as unknown as AnyRouter).use((req: AnyRequest, _res: unknown, next: () => void) => {
      if (req.url.startsWith('/en')) req.url = req.url.slice('/en'.length);
      next();
    });
    (router as unknown as AnyRouter).get('/secret', (req: AnyRequest, res: AnyResponse) => res.end(`the secret of ${String(req.params['v'])}`));
    root.use('/t/:v', own, router);
    root.use((req: AnyRequest, res: AnyResponse) => res.end(`behind, ${req.url}`));
    const port = await running.serve(app as unknown as RequestListener);
    const answer = async (path: string): Promise<string> => (await ask(port, path, { headers: { tenant: '1' } })).body;
    expect(await answer('/t/1/secret')).toBe('the secret of 1');
    expect(await answer('/t/1/en/secret')).toBe('the secret of 1');
    expect(await answer('/t/19/secret')).toBe('not yours');
    expect(await answer('/t/1/en9/secret')).toBe('behind, /t/1/9/secret');
    expect(await answer('/t/1/en?q')).toBe('behind, /t/1?q');
  });

  test.each(OWN_PATHS)('is no longer in an Express program by what middleware with the path %s puts behind it', async (_name, own) => {
    const app = express(silent);
    const router = express.Router({ mergeParams: true });
    const use = router.use.bind(router) as (...given: unknown[]) => unknown;
    use(own, (req: AnyRequest & { query: Record<string, string> }, _res: unknown, next: () => void) => {
      if (req.query['page'] !== undefined) req.url = req.query['page'];
      next();
    });
    router.get('/x', (req, res) => void res.end(`the secret of ${String((req.params as Record<string, string>)['id'])}`));
    app.use('/t/:id', (req, res, next) => (req.params.id === '1' ? next() : void res.end('not yours')), router as never);
    const port = await running.serve(app);
    expect((await ask(port, '/t/19/x')).body).toBe('not yours');
    expect((await ask(port, '/t/1?page=/x')).body).toBe('the secret of 1');
    expect((await ask(port, '/t/1?page=9/x')).status).toBe(404);
  });

  describe.each(['/f/*w', '/f{/*w}', '/f{/:w}', /^\/f(?:\/\w+)*/])('refuses in createServer what enters a router by another part: %s', (mount) => {
    /** A router with a guard, in one within another, and who makes another target in it. */
    async function asked(...rewriters: Handler[]): Promise<{ status: number; body: string; notes: string[] }> {
      const notes: string[] = [];
      const note = (name: string): Handler => (_req, _res, next) => {
        notes.push(name);
        next();
      };
      const port = await running.app((app) => {
        const router = Router().use(note('guard'), ...rewriters, note('behind'));
        router.all('/**', (_req, res) => res.end('reached'));
        app.use(mount, Router().use(Router().use(router)));
        app.use(note('outside'));
        app.use(((error, _req, _res, next) => {
          notes.push('error middleware');
          next(error);
        }) as ErrorHandler);
      });
      const { status, body } = await ask(port, sent);
      return { status, body, notes };
    }
    const to = (url: string): Handler => (req, _res, next) => {
      req.url = url;
      next();
    };
    const sent = mount === '/f/*w' ? '/f/1' : '/f';

    test.each<[string, Handler[]]>([
      ['a rewrite', [to('/9/x')]],
      ['one behind another', [(req, _res, next) => { req.url = req.path; next(); }, to('/9/x')]],
      ['one that comes while another waits', [(req, _res, next) => { setImmediate(() => (req.url = '/9/x')); next(); }, (_req, _res, next) => void setTimeout(next, 5)]],
      ['one that comes with a next of the router', [(req, _res, next) => { req.url = '/9/x'; next('router'); }]],
    ])('%s', async (_name, rewriters) => {
      const { status, body, notes } = await asked(...rewriters);
      expect(status).toBe(400);
      expect(body).toContain('enters a router by another part of its mount path');
      expect(notes).toEqual(['guard']);
    });
  });
});
