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
  const includeRoutes = ['/guarded', '/guarded/**', '/c/guarded', '/c/guarded/**', { path: '/deleted', methods: ['DELETE'] }];
  const app = (OUTER[outer] as (options: object) => Application)({ ...silent, security: { requestSignature, routeConfig: { requestSignature: { includeRoutes } } } });
  const theirProgram = (PLACES[place] as (typeof PLACES)[string])(mounted as never, path, (to) => {
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
    to.use((req, res) => void res.send(`open ${req.url}`));
  });
  app.use(theirProgram as never);
  return running.start(app);
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
    for (const outer of Object.keys(OUTER)) {
      for (const place of Object.keys(PLACES)) {
        for (const make of Object.values(MOUNTED)) {
          const seen: Seen = { guarded: [], failed: [] };
          const mounted = make();
          (RAISERS[raiser] as (typeof RAISERS)[string])(mounted, CHANGES[change] as Change, GOINGS[going] as Go);
          const port = await start(outer, place, '/', mounted, seen);
          // Of the right form, so that its secret is looked up.
          const headers = { ...signRequest({ secret: `not ${SECRET}`, method: 'GET', url: '/old/x', keyId: 'key' }) };
          await ask(port, '/old/x', { headers });
          expect(seen.guarded).toEqual([]);
          // In front of a further handler of its route, a new method goes on as in Express.
          expect(seen.failed).toEqual(['late GET /old/x']);
        }
      }
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
          expect(seen).toEqual({ guarded: [], failed: ['late GET /old/x'] });
        }
      }
    }
  });

  /** Makes a target without the origin that a client may have sent, or with another. */
  const targets: Record<string, (path: string) => string> = {
    'a path': (path) => path,
    'another origin': (path) => `http://inside${path}`,
    'a longer origin': (path) => `http://a.longer.host.than.that.of.the.client:8080${path}`,
  };

  test.each(Object.keys(targets))('has the origin that it came with, made %s by what is mounted', async (made) => {
    for (const outer of Object.keys(OUTER)) {
      for (const place of Object.keys(PLACES)) {
        for (const make of Object.values(MOUNTED)) {
          const seen: Seen = { guarded: [], failed: [] };
          const mounted = make().use((req, _res, next) => {
            const path = req.url.replace(/^https?:\/\/[^/]*/, '');
            if (path.startsWith('/old')) req.url = (targets[made] as (path: string) => string)(`/new${path.slice('/old'.length)}`);
            next();
          });
          const port = await start(outer, place, '/c', mounted, seen);
          expect((await ask(port, '/c/guarded/x')).status).toBe(401);
          for (let length = 0; length < 12; length++) {
            for (const origin of ['', 'http://h', `http://${'h'.repeat(2 * length + 1)}`]) {
              const sent = `${origin}/c/old/${'x'.repeat(length)}/guarded/x`;
              const answer = await Wire.tell(port, head(`GET ${sent}`, { Connection: 'close' }));
              expect([sent, answer.split('\r\n\r\n')[1]]).toEqual([sent, `open ${origin}/c/new/${'x'.repeat(length)}/guarded/x`]);
            }
          }
          expect(seen.guarded).toEqual([]);
        }
      }
    }
  });
});
