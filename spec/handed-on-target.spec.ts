import theirs from 'express';
import { type Application, createServer, express, type Handler, type NextFunction, type Request, type Response, Router, signRequest } from 'waypost';
import { Running } from './support/running';
import { ask, head, Wire } from './support/wire';

const SECRET = 'a secret of more than thirty-two bytes';
const running = new Running();
afterEach(() => running.close());

const silent = { logging: { level: 'silent' } } as const;

/** What the program of another framework makes of a request that an application of waypost in it has handed on. */
interface Seen {
  guarded: string[];
  failed: string[];
}

/** What is mounted in another framework's program. */
const MOUNTED: Record<string, () => Application> = {
  'an application': () => createServer(silent),
  'an Express program': () => express(silent) as unknown as Application,
  'a Router': () => Router() as unknown as Application,
  'a Router in an application': () => {
    const router = Router();
    return Object.assign(createServer(silent).use(router), { use: router.use.bind(router), all: router.all.bind(router), param: router.param.bind(router) }) as never;
  },
};

/** Where in an Express program it is mounted: each asks nobody about the targets that it makes. */
const PLACES: Record<string, (mounted: never, path: string, behind: (to: theirs.Router) => void) => unknown> = {
  'an Express application': (mounted, path, behind) => {
    const app = theirs().set('env', 'test').use(path, mounted);
    behind(app as never);
    return app;
  },
  'an Express Router': (mounted, path, behind) => {
    const router = theirs.Router().use(path, mounted);
    behind(router);
    return router;
  },
};

const OUTER: Record<string, (options: object) => Application> = { createServer: (options) => createServer(options), express: (options) => express(options) as unknown as Application };

/** Starts waypost with a check, around Express, around what is mounted there. */
async function start(outer: string, place: string, path: string, mounted: unknown, seen: Seen): Promise<number> {
  const requestSignature = { secret: () => new Promise<string>((resolve) => setImmediate(resolve, SECRET)) };
  const includeRoutes = ['/guarded', '/guarded/**', '/c/guarded', '/c/guarded/**', '/o/secret', '/c/o/secret', { path: '/deleted', methods: ['DELETE'] }];
  const app = (OUTER[outer] as (options: object) => Application)({ ...silent, security: { requestSignature, routeConfig: { requestSignature: { includeRoutes } } } });
  return running.start(app.use(program(place, path, mounted, seen) as never));
}

/** A program of Express with something mounted in it, and behind it what a check guards. */
function program(place: string, path: string, mounted: unknown, seen: Seen): unknown {
  return (PLACES[place] as (typeof PLACES)[string])(mounted as never, path, (to) => {
    to.use((error: Error, req: theirs.Request, _res: theirs.Response, next: theirs.NextFunction) => {
      seen.failed.push(`${error.message} ${req.method} ${req.url}`);
      next();
    });
    const guarded = (req: theirs.Request, res: theirs.Response): void => {
      seen.guarded.push(`${req.method} ${req.url}`);
      res.send('guarded');
    };
    to.all(['/guarded/:x', '/c/guarded/:x'], guarded);
    to.delete('/deleted', guarded);
    for (const base of ['/o', '/c/o']) to.use(base, theirs.Router().get('/secret', guarded));
    to.use((req, res) => void res.send(`open ${req.url}`));
  });
}

type Change = (req: Request) => void;
type Go = (next: NextFunction) => unknown;

const fails = (): never => {
  throw new Error('late');
};

/** What a program does that goes on twice: the second time while the check of the new target is pending. */
const GOINGS: Record<string, Go> = {
  'throws': (next) => {
    next();
    fails();
  },
  'rejects': async (next) => {
    next();
    await null;
    fails();
  },
  'hands on an error': (next) => {
    next();
    next(new Error('late'));
  },
  'hands on an error later': (next) => {
    next();
    process.nextTick(() => next(new Error('late')));
  },
};

/** Where in what is mounted the target is changed. */
const RAISERS: Record<string, (mounted: Application, change: Change, go: Go) => unknown> = {
  'middleware': (mounted, change, go) => mounted.use(handler(change, go)),
  'a route': (mounted, change, go) => mounted.all('/{*any}', handler(change, go)),
  'a route, in front of a further handler': (mounted, change, go) => mounted.all('/{*any}', handler(change, go), (_req, _res, next) => next()),
  'a handler of a parameter': (mounted, change, go) => {
    mounted.param('name', (req, _res, next) => {
      if (!req.url.includes('old')) return next();
      change(req);
      return go(next);
    });
    mounted.all('/:name/x', (_req, _res, next) => next());
  },
};

function handler(change: Change, go: Go): Handler {
  return (req, _res, next) => {
    if (!req.url.includes('old')) return next();
    change(req);
    return go(next);
  };
}

const CHANGES: Record<string, Change> = {
  'the URL': (req) => void (req.url = req.url.replace('/old', '/guarded')),
  'the method': (req) => {
    req.method = 'DELETE';
    req.url = '/deleted';
  },
};

const programs = Object.keys(RAISERS).flatMap((raiser) => Object.keys(GOINGS).flatMap((going) => Object.keys(CHANGES).map((change) => [raiser, going, change] as const)));

describe('what is handed on to another framework', () => {
  test.each(programs)('is no target that was not admitted: %s %s, with %s changed', async (raiser, going, change) => {
    for (const [index, make] of Object.values(MOUNTED).entries()) {
      const seen: Seen = { guarded: [], failed: [] };
      const mounted = make();
      (RAISERS[raiser] as (typeof RAISERS)[string])(mounted, CHANGES[change] as Change, GOINGS[going] as Go);
      const port = await start(Object.keys(OUTER)[index >> 1] as string, Object.keys(PLACES)[index & 1] as string, '/', mounted, seen);
      // Of the right form, so that its secret is looked up.
      await ask(port, '/old/x', { headers: { ...signRequest({ secret: `not ${SECRET}`, method: 'GET', url: '/old/x', keyId: 'key' }) } });
      expect(seen.guarded).toEqual([]);
      expect(seen.failed).toEqual([]);
    }
  });

  test.each(Object.keys(GOINGS))('is no target that was not admitted: a route that is called by hand %s', async (going) => {
    for (const outer of Object.keys(OUTER)) {
      for (const place of Object.keys(PLACES)) {
        for (const change of Object.values(CHANGES)) {
          const seen: Seen = { guarded: [], failed: [] };
          const route = Router().route('/{*any}').all(handler(change, GOINGS[going] as Go), (_req, _res, next) => next());
          const port = await start(outer, place, '/', ((req: Request, res: Response, next: NextFunction) => route.dispatch(req, res, next)) as never, seen);
          await ask(port, '/old/x', { headers: { ...signRequest({ secret: `not ${SECRET}`, method: 'GET', url: '/old/x', keyId: 'key' }) } });
          expect(seen).toEqual({ guarded: [], failed: [] });
        }
      }
    }
  });

  /** Makes a target without the origin that a client may have sent, with it, or with another. */
  const targets: Record<string, (path: string, sent: string) => string> = {
    'a path': (path) => path,
    'of the same origin': (path, sent) => (/^https?:\/\/[^/]*/.exec(sent)?.[0] ?? '') + path,
    'of another origin': (path) => `http://inside${path}`,
    'of a longer origin': (path) => `http://a.longer.host.than.that.of.the.client:8080${path}`,
  };

  function rewriter(made: string, to: string): Handler {
    return (req, _res, next) => {
      const path = req.url.replace(/^https?:\/\/[^/]*/, '');
      if (path.startsWith('/old')) req.url = (targets[made] as (typeof targets)[string])(to + path.slice('/old'.length), req.url);
      next();
    };
  }

  /** Targets with an origin, of which what is cut off of what was made of them ends in front of something guarded. */
  function sentTo(path: string): string[] {
    const sent = [`http://guarded${path}/old`, `http://secret${path}/old`];
    for (const rest of ['guarded/x', 'secret', 'o/secret']) {
      for (let length = 4; length < 12; length++) sent.push(`http://h${path}/old/${'z'.repeat(length)}/${rest}`);
      sent.push(`*http://h${path}/old/zzzzzzzz/${rest}`);
    }
    return sent;
  }

  const cells = Object.keys(targets).flatMap((made) => ['/new', '/o'].flatMap((to) => ['/', '/c'].map((path) => [made, to, path] as const)));

  test.each(cells)('is not made of one with an origin: %s, to %s, mounted at %s', async (made, to, path) => {
    for (const [index, make] of Object.values(MOUNTED).entries()) {
      const place = Object.keys(PLACES)[index % 2] as string;
      const seen: Seen = { guarded: [], failed: [] };
      const port = await start('createServer', place, path, make().use(rewriter(made, to)), seen);
      const base = path === '/' ? '' : path;
      expect((await ask(port, `${base}/guarded/x`)).status).toBe(401);
      // A path may be made into another path.
      const rewritten = await ask(port, `${base}/old/any`);
      if (made === 'a path' || made === 'of the same origin') expect(rewritten.body).toBe(`open ${base}${to}/any`);
      else expect(rewritten.status).toBe(401);
      const sent = sentTo(base);
      const wire = await Wire.tell(port, sent.map((target) => head(`GET ${target}`)).join('') + head('GET /last', { Connection: 'close' }));
      expect(seen.guarded).toEqual([]);
      expect(wire.match(/HTTP\/1\.1 \d+/g)).toHaveLength(sent.length + 1);
      expect(wire.match(/HTTP\/1\.1 401/g)?.length).toBeGreaterThan(20);
    }
  });

  test.each(cells)('is as in Express where nothing is checked: %s, to %s, mounted at %s', async (made, to, path) => {
    for (const place of Object.keys(PLACES)) {
      const answers = async (mounted: unknown): Promise<string> => {
        const seen: Seen = { guarded: [], failed: [] };
        const port = await running.start(createServer(silent).use(program(place, path, mounted, seen) as never));
        const wire = await Wire.tell(port, sentTo(path === '/' ? '' : path).map((target) => head(`GET ${target}`)).join('') + head('GET /last', { Connection: 'close' }));
        return wire.replace(/^(?:Date|ETag|X-Powered-By|Connection|Keep-Alive): .*\r\n/gm, '') + seen.failed.join() + seen.guarded.join();
      };
      const express = await answers(theirs.Router().use(rewriter(made, to) as never));
      for (const make of Object.values(MOUNTED)) expect(await answers(make().use(rewriter(made, to)))).toBe(express);
    }
  });

  /** Mounts as connect does, Express 4, and Express 5 before its router 2.3: a slash that it has put before the rest it takes away, whatever was made of the rest. */
  function mountedAsBefore(path: string, mounted: Handler, reached: Handler): Handler {
    return (req, res, next) => {
      if (!/^\/s(?=[/?]|$)/.test(req.url)) return next();
      const rest = req.url.slice(path.length);
      const isAdded = !rest.startsWith('/');
      req.url = isAdded ? `/${rest}` : rest;
      return mounted(req, res, (error) => {
        req.url = path + (isAdded ? req.url.slice(1) : req.url);
        if (error !== undefined || req.url !== '/secret') return next(error);
        return reached(req, res, next);
      });
    };
  }

  test.each(Object.keys(MOUNTED))('is asked about without a slash that the framework around has added: %s', async (name) => {
    for (const make of Object.values(OUTER)) {
      const mounted = (MOUNTED[name] as () => Application)().use((req, _res, next) => {
        const [, page, kind] = /\?page=(\w+)(.?)/.exec(req.url) ?? [];
        if (page !== undefined) req.url = `${kind === '!' ? '?' : '/'}${page}`;
        next();
      });
      const app = make({ ...silent, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/secret'] } } } });
      app.use(mountedAsBefore('/s', mounted as never, (_req, res) => res.send('reached')));
      const port = await running.start(app);
      expect((await ask(port, '/s?page=ecret')).status).toBe(401);
      expect((await ask(port, '/s?page=ecret!')).status).toBe(401);
      // Nobody can tell what the framework around makes of it.
      expect((await ask(port, '/s?page=other')).status).toBe(401);
      expect((await ask(port, '/s?any')).status).toBe(404);
      const signed = { ...signRequest({ secret: SECRET, method: 'GET', url: '/s?page=ecret' }) };
      expect((await ask(port, '/s?page=ecret', { headers: signed })).body).toBe('reached');
    }
  });

  /** What programs make of what comes for a mount path alone: less than a path. */
  test.each(['/v1', '/v1?x=1', '/v1#f', '?x=1', '#f', '', '/v1?http://h/x'])('may be less than a path: %j', async (rest) => {
    for (const make of Object.values(MOUNTED)) {
      for (const place of [null, ...Object.keys(PLACES)]) {
        const mounted = make().use((req, _res, next) => {
          req.url = req.url.replace(/^\/v1/, '');
          next();
        });
        const app = createServer({ ...silent, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/private/**'] } } } });
        const seen: Seen = { guarded: [], failed: [] };
        const between = place === null ? (req: Request, res: Response, next: NextFunction): void => void (mounted as unknown as Handler)(req, res, next) : program(place, '/', mounted, seen);
        app.use('/api', between as never);
        app.use((_req, res) => res.send('open'));
        const port = await running.start(app);
        const answer = await Wire.tell(port, head(`GET /api${rest}`, { Connection: 'close' }));
        expect([answer.slice(9, 12), /open.*$/.test(answer)]).toEqual(['200', true]);
        expect(seen.failed).toEqual([]);
      }
    }
  });

  /** Ways of mounting that put no slash before the rest, or take it away only where they find it alone. */
  const OPEN: Record<string, (app: Application, mounted: Application) => unknown> = {
    'mounted': (app, mounted) => app.use('/public', mounted as never),
    'wrapped': (app, mounted) => app.use('/public', (req, res, next) => void (mounted as unknown as Handler)(req, res, next)),
    'in an Express Router': (app, mounted) => app.use('/public', theirs.Router().use(mounted as never) as never),
    'by hand': (app, mounted) => app.use((req, res, next) => {
      if (!/^\/public(?=[/?]|$)/.test(req.url)) return next();
      req.url = req.url.slice('/public'.length).replace(/^(?!\/)/, '/');
      req.baseUrl += '/public';
      return (mounted as unknown as Handler)(req, res, next);
    }),
  };

  test.each(Object.keys(OPEN).flatMap((way) => Object.keys(MOUNTED).filter((name) => way !== 'by hand' || !name.includes('Router')).map((name) => [way, name] as const)))('stays open where it is excluded: %s, %s', async (way, name) => {
    for (const make of Object.values(OUTER)) {
      const mounted = (MOUNTED[name] as () => Application)().use((req, _res, next) => {
        if (req.url === '/' || req.url === '') req.url = '/index';
        next();
      });
      const app = make({ ...silent, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { excludeRoutes: ['/public', '/public/**'] } } } });
      mounted.use((_req, res) => res.send('open'));
      (OPEN[way] as (typeof OPEN)[string])(app, mounted);
      const port = await running.start(app);
      for (const path of ['/public', '/public/index', '/public?x=1', '/public/any?x=1']) expect([path, (await ask(port, path)).body]).toEqual([path, 'open']);
      for (const path of ['/publicindex', '/publicx=1', '/other']) expect([path, (await ask(port, path)).status]).toEqual([path, 401]);
    }
  });
});
