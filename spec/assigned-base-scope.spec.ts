import theirs from 'express';
import { type Application, createServer, express, type Handler, type Request, Router, signRequest } from 'waypost';
import { Running } from './support/running';
import { ask } from './support/wire';

const SECRET = 'the secret of these specs, 32 bytes or more';
const running = new Running();
afterEach(() => running.close());

const silent = { logging: { level: 'silent' } } as const;
const nothing: Handler = (_req, _res, next) => next();

/** Assigns req.baseUrl; a function makes it of what it was. */
function assign(base: Base): Handler {
  return (req, _res, next) => {
    req.baseUrl = (typeof base === 'function' ? base(req.baseUrl) : base) as string;
    next();
  };
}

type Base = string | undefined | ((before: string) => string);

/** Calls what is mounted by hand beneath /api, as docs/signature-scope.md has it. */
function byHand(mounted: Handler, base: (before: string) => string): Handler {
  return (req, res, next) => {
    if (!req.url.startsWith('/api/')) return next();
    req.url = req.url.slice('/api'.length);
    req.baseUrl = base(req.baseUrl);
    return mounted(req, res, next);
  };
}

/** Leads what comes for /api to what is mounted, by way of something that may assign req.baseUrl. */
type Way = (app: Application, mounted: Handler, middle: Handler) => unknown;

/** Takes the path of the mounted application off the URL, and adds it to `req.baseUrl`, as for one that is called next. */
const cut: Handler = (req, res, next) => longer(req, res, () => shorter(req, res, next));
const isMounted = ({ originalUrl }: Request): boolean => originalUrl.startsWith('/api/');
const longer: Handler = (req, _res, next) => {
  if (isMounted(req)) req.baseUrl += '/api';
  next();
};
const shorter: Handler = (req, _res, next) => {
  if (isMounted(req)) req.url = req.url.slice('/api'.length);
  next();
};

const WAYS: Record<string, Way> = {
  'by hand, with a base of its own': (app, mounted, middle) => app.use(middle, byHand(mounted, () => '/api')),
  'by hand, with a longer base': (app, mounted, middle) => app.use(middle, byHand(mounted, (before) => `${before}/api`)),
  'by hand, cut by middleware before': (app, mounted, middle) => app.use(middle, cut, (req, res, next) => void mounted(req, res, next)),
  'by hand, cut by two middleware before': (app, mounted, middle) => app.use(middle, longer, shorter, (req, res, next) => void mounted(req, res, next)),
  'by nothing, cut by middleware before': (app, mounted, middle) => app.use(middle, cut, mounted),
  'by a Router, cut by middleware before': (app, mounted, middle) => app.use(Router().use(middle, cut).use(mounted)),
  'by hand in a Router': (app, mounted, middle) => app.use(Router().use(middle, byHand(mounted, () => '/api'))),
  'by hand in an application': (app, mounted, middle) => app.use(createServer(silent).use(middle, byHand(mounted, () => '/api'))),
  'by hand in an Express Router': (app, mounted, middle) => app.use(theirs.Router().use(middle as never, byHand(mounted, () => '/api') as never) as never),
  'by hand in a route': (app, mounted, middle) => app.use(middle).all('/api/:rest', byHand(mounted, () => '/api')),
  'by hand beneath its path': (app, mounted, middle) => app.use('/api', middle, (req, res, next) => void mounted(req, res, next)),
  'by a path': (app, mounted, middle) => app.use(middle).use('/api', mounted),
  'by a Router with a path': (app, mounted, middle) => app.use('/api', Router().use(middle).use(mounted)),
  'by an Express Router with a path': (app, mounted, middle) => app.use('/api', theirs.Router().use(middle as never).use(mounted as never) as never),
  'by an Express Router': (app, mounted, middle) => app.use(theirs.Router().use(middle as never).use('/api', mounted as never) as never),
  'by an Express application': (app, mounted, middle) => app.use('/api', theirs().use(middle as never).use(mounted as never) as never),
  'by an application': (app, mounted, middle) => app.use('/api', express(silent).use(middle as never).use(mounted as never) as never),
};

const BASES: Record<string, Base | null> = {
  nothing: null, 'a prefix': '/proxy', 'a prefix of its own': (before) => `/proxy${before}`, 'the same': '/api', 'a slash': '/', 'no text': '', 'more': '/api/x', 'no string': undefined,
};
const OUTER: Record<string, (options: object) => Application> = { createServer: (options) => createServer(options), express: (options) => express(options) as unknown as Application };
const MOUNTED: Record<string, () => unknown> = { 'an application': () => createServer(silent), 'an Express program': () => express(silent), 'a Router': () => Router() };

const cells = Object.keys(WAYS).flatMap((way) => Object.keys(BASES).map((base) => [way, base] as const));

/** Asks each pair of an application and of what is mounted in it. */
async function eachPair(way: string, base: string, scope: object, check: (port: number, reached: () => number) => Promise<void>): Promise<void> {
  for (const make of Object.values(OUTER)) {
    for (const inner of Object.values(MOUNTED)) {
      let reached = 0;
      const mounted = (inner() as Application).use((req, _res, next) => {
        if (req.url === '/old') req.url = '/secret';
        next();
      });
      mounted.get('/secret', (_req, res) => {
        reached++;
        res.send('reached');
      });
      mounted.get('/open', (_req, res) => res.send('open'));
      const app = make({ ...silent, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: scope } } });
      const given = BASES[base];
      (WAYS[way] as Way)(app, mounted as never, given === null ? nothing : assign(given));
      await check(await running.start(app), () => reached);
    }
  }
}

test.each(['at once', 'before', 'behind'])('what is excluded stays open where middleware makes another target of it, and gives the prefix of a proxy: %s', async (when) => {
  const prefix: Handler = (req, _res, next) => { req.baseUrl = '/shop'; next(); };
  const alias: Handler = (req, _res, next) => { if (req.url === '/status') req.url = '/public/status'; next(); };
  for (const make of Object.values(OUTER)) {
    const app = make({ ...silent, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { excludeRoutes: ['/public/**', '/status'] } } } });
    if (when === 'at once') app.use((req, res, next) => prefix(req, res, () => alias(req, res, next)));
    else app.use(...(when === 'before' ? [prefix, alias] : [alias, prefix]));
    app.get('/public/:name', (_req, res) => void res.send('open'));
    app.use('/public', createServer(silent).use((req, _res, next) => { req.url = '/other'; next(); }) as never);
    const port = await running.start(app);
    expect((await ask(port, '/status')).body).toBe('open');
    expect((await ask(port, '/public/a/b')).status).toBe(404);
  }
});

describe('a scope where a program assigns req.baseUrl, and an application is mounted', () => {
  test.each(cells)('%s, behind %s: no rewrite leads past its check', async (way, base) => {
    await eachPair(way, base, { includeRoutes: ['/api/secret'] }, async (port, reached) => {
      expect([(await ask(port, '/api/old')).status, reached()]).toEqual([401, 0]);
      const signed = await ask(port, '/api/old', { headers: { ...signRequest({ secret: SECRET, method: 'GET', url: '/api/old' }) } });
      expect([signed.status, reached()]).toEqual([200, 1]);
      expect((await ask(port, '/api/open')).status).toBe(200);
    });
  });

  // What middleware cuts is another target, which is asked about: `/open` is not excluded.
  test.each(cells.filter(([way]) => !way.includes('cut by')).filter(([way, base]) => base === 'nothing' || (base === 'a prefix' && !way.includes('Express') && !way.includes('beneath'))))('%s, behind %s: what is excluded stays open', async (way, base) => {
    await eachPair(way, base, { excludeRoutes: ['/api/open'] }, async (port) => {
      expect((await ask(port, '/api/open')).status).toBe(200);
      expect((await ask(port, '/api/old')).status).toBe(401);
    });
  });
});
