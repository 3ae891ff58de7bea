import theirs from 'express';
import { type Application, createServer, express, type Handler, Router, signRequest } from 'waypost';
import { besidesOf, type NestedWalk } from '../lib/routing/nesting';
import type { TargetView } from '../lib/routing/target-view';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const SECRET = 'the secret of these specs, 32 bytes or more';
const running = new Running();
afterEach(() => running.close());

/** Takes the first segment off and calls the application once more, as a program that looks for a tenant or a language may. */
type Way = (app: Application, segment: string, rest: string, req: Parameters<Handler>[0]) => void;
const WAYS: Record<string, Way> = {
  'the URL alone': (_app, _segment, rest, req) => void (req.url = rest),
  'URL and base': (_app, segment, rest, req) => void ((req.url = rest), (req.baseUrl += segment)),
  'URL, and a base of its own': (_app, segment, rest, req) => void ((req.url = rest), (req.baseUrl = segment)),
  'the URL in small letters': (_app, segment, rest, req) => void ((req.url = rest.toLowerCase()), (req.baseUrl += segment)),
};
const MOMENTS: Record<string, (call: () => void) => void> = { 'at once': (call) => call(), 'later': (call) => void setImmediate(call) };
const MAKES: Record<string, (options: object) => Application> = { createServer: (options) => createServer(options), express: (options) => express(options) as unknown as Application };
const cells = Object.keys(WAYS).flatMap((way) => Object.keys(MOMENTS).flatMap((moment) => Object.keys(MAKES).map((make) => [way, moment, make] as const)));

function selfCalling(make: string, way: string, moment: string, options: object): Application {
  const app = (MAKES[make] as (options: object) => Application)({ logging: { level: 'silent' }, ...options });
  app.use((req, res, next) => {
    const [, segment, rest] = /^(\/\w+)(\/.*)$/.exec(req.url) ?? [];
    if (segment === undefined || rest === undefined) return next();
    return (MOMENTS[moment] as (call: () => void) => void)(() => {
      (WAYS[way] as Way)(app, segment, rest, req);
      app(req, res, next);
    });
  });
  app.get('/x', (_req, res) => res.send('reached'));
  return app;
}

const deep = (levels: number): string => `${Array.from({ length: levels }, (_, level) => `/a${level}`).join('')}/x`;

describe('an application that calls itself by hand as deep as the client says', () => {
  test.each(cells)('by %s, %s, of %s(): answers, as by Express', async (way, moment, make) => {
    const port = await running.start(selfCalling(make, way, moment, {}));
    for (const levels of [1, 14, 60]) expect([levels, (await ask(port, deep(levels))).status]).toEqual([levels, 200]);
  });

  test.each(cells)('by %s, %s, of %s() with a signature check: answers or refuses, and lives on', async (way, moment, make) => {
    const port = await running.start(selfCalling(make, way, moment, {
      security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/guarded/**'] } } },
    }));
    for (const levels of [1, 5, 14, 60]) {
      const { status } = await ask(port, deep(levels));
      expect([levels, [200, 500].includes(status)]).toEqual([levels, true]);
      if (levels <= 5) expect([levels, status]).toEqual([levels, 200]);
    }
    expect((await ask(port, '/a/guarded/b/x')).status).toBe(401);
    expect((await ask(port, '/x')).status).toBe(200);
  });

  test('says what to write where it can not tell for what the URL stands', async () => {
    const logger = new LogRecorder();
    const port = await running.start(selfCalling('createServer', 'the URL alone', 'at once', {
      logging: { logger }, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/guarded/**'] } } },
    }));
    expect((await ask(port, deep(30))).status).toBe(500);
    expect(logger.text).toContain('add that to req.baseUrl');
  });
});

interface Fake extends NestedWalk<Fake> {
  readonly serial: number;
}

describe('what the innermost of so many calls leaves', () => {
  test.each(Object.keys(MAKES).flatMap((make) => ['nothing', 'an error', 'a rewrite', 'a rewrite into a scope'].map((left) => [make, left] as const)))('%s(): %s reaches the server, and the stack holds', async (make, left) => {
    const app = selfCalling(make, 'URL and base', 'later', left === 'a rewrite into a scope'
      ? { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/**/guarded'] } } } }
      : {});
    app.use((req, _res, next) => {
      if (req.url !== '/end') return next();
      if (left === 'an error') return next(new Error('left'));
      if (left === 'a rewrite') req.url = '/x';
      if (left === 'a rewrite into a scope') req.url = '/guarded';
      return next();
    });
    // In front of the route, for the rewrite to find it: what stands above it has run by then.
    app.get('/x', (_req, res) => res.send('found'));
    const port = await running.start(app);
    const wanted = left === 'nothing' ? 404 : left === 'an error' ? 500 : left === 'a rewrite' ? 200 : 401;
    for (const levels of [1, 101, 1500]) expect([levels, (await ask(port, `${'/a'.repeat(levels)}/end`)).status]).toEqual([levels, wanted]);
  });
});

const MOUNTED = [() => createServer({ logging: { level: 'silent' } }), () => express({ logging: { level: 'silent' } }), () => Router()];

describe('an application that has ended, and fails then', () => {
  const lateErrors: Record<string, Handler> = {
    'a rejection': async (_req, _res, next) => {
      next();
      await null;
      throw new Error('late');
    },
    'a throw': (_req, _res, next) => {
      next();
      throw new Error('late');
    },
    'a late call': (_req, _res, next) => {
      next();
      setImmediate(next, new Error('late'));
    },
  };

  test.each(Object.keys(lateErrors))('takes the request from none that has it by now: %s', async (late) => {
    for (const makeFirst of MOUNTED) {
      for (const makeInner of MOUNTED) {
        const [first, inner] = [makeFirst(), makeInner()];
        (first as unknown as Application).use(lateErrors[late] as Handler);
        const checking = createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/secret'] } } } });
        (inner as unknown as Application).use((req, _res, next) => {
          if (req.url === '/open') req.url = '/secret';
          next();
        });
        let reached = 0;
        (inner as unknown as Application).get('/secret', (_req, res) => {
          reached++;
          res.send('reached');
        });
        checking.use((req, res, next) => void setTimeout(() => (inner as unknown as Handler)(req, res, next), 5));
        const outer = theirs().use(first as never).use(checking as never);
        // As one that logs errors and answers none.
        outer.use(((error: Error, _req: unknown, _res: unknown, next: (error?: unknown) => void) => {
          if (error.message !== 'late') next(error);
        }) as never);
        const port = await running.serve(outer as never);
        expect([(await ask(port, '/open')).status, reached]).toEqual([401, 0]);
      }
    }
  });
});

describe('the cost of walks around one another', () => {
  test('grows with their number, for each that begins', () => {
    let looks = 0;
    const view = { base: '', url: '/', mayLeadTo: () => true, hiddenAt: () => [] } as unknown as TargetView;
    let last: Fake | undefined;
    for (let serial = 0; serial < 2000; serial++) {
      const around = last;
      last = {
        view, serial, isOver: false, hasCalled: true,
        get parent() {
          looks++;
          return around;
        },
        get before() {
          looks++;
          return around;
        },
      };
    }
    expect(besidesOf(last as Fake)).toBeNull();
    expect(looks).toBeLessThan(3 * 2000);
  });
});

describe('a base that the client names', () => {
  test.each(['/proxy', '/api', '/api/zzz', '/api/old', '/'])('does not lead past the check of the application around: %s', async (prefix) => {
    for (const change of [(url: string) => url.replace('/old', '/secret'), (url: string) => url.toLowerCase(), (url: string) => decodeURI(url), (url: string) => url.replace('/v1', '')]) {
      for (const mounted of [createServer({ logging: { level: 'silent' } }), Router(), express({ logging: { level: 'silent' } })]) {
        let reached = 0;
        (mounted as unknown as Application).get('/secret', (_req, res) => {
          reached++;
          res.send('reached');
        });
        const port = await running.app((app) => {
          app.use('/api', (req, res, next) => {
            req.baseUrl = req.get('x-forwarded-prefix') ?? req.baseUrl;
            req.url = change(req.url);
            (mounted as unknown as Handler)(req, res, next);
          });
        }, { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/api/secret'] } } } });
        for (const path of ['/api/old', '/api/SECRET', '/api/%73ecret', '/api/v1/secret']) await ask(port, path, { headers: { 'X-Forwarded-Prefix': prefix } });
        expect(reached).toBe(0);
        const headers = { ...signRequest({ secret: SECRET, method: 'GET', url: '/api/secret' }), 'X-Forwarded-Prefix': prefix };
        expect((await ask(port, '/api/secret', { headers })).status).toBe(200);
      }
    }
  });
});
