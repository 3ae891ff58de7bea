import type { Application as ExpressApplication, IRouter, NextFunction, Request, Response } from 'express';
import fc from 'fast-check';
import { createServer, express, Router } from 'waypost';
import { answersOf, type Asked, type ExpressModule, onBoth } from './support/both-expresses';
import { Running } from './support/running';
import { runs } from './support/runs';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

type Called = (this: unknown, req: Request, res: Response, next: NextFunction) => void;

/** Puts a guard in the place of a method; returns what puts the method back. */
function guard(owner: object, name: 'handle' | 'dispatch'): () => void {
  const before = Object.getOwnPropertyDescriptor(owner, name);
  const own = Reflect.get(owner, name) as Called;
  const guarding: Called = function (req, res, next) {
    // In front of an application they are Node's own.
    if (req.headers['x-key'] === undefined) res.writeHead(401).end('no key');
    else own.call(this, req, res, next);
  };
  (owner as Record<string, unknown>)[name] = guarding;
  return () => {
    if (before === undefined) Reflect.deleteProperty(owner, name);
    else Object.defineProperty(owner, name, before);
  };
}

const secret = (_req: Request, res: Response): void => void res.send('secret');
const KEY = { headers: { 'x-key': 'yes' } };
const ASKED: readonly Asked[] = ['/x/a', ['/x/a', KEY], ['/x/a', { method: 'HEAD' }], ['/x/a', { method: 'POST' }], ['/x/a', { method: 'POST', ...KEY }], ['/x/none', KEY]];

/** Programs that put a guard there; what is returned second takes it away again. */
const PROGRAMS: Record<string, (express: ExpressModule) => readonly [ExpressApplication, (() => void)?]> = {
  'a router, before it is mounted': (express) => {
    const router = express.Router();
    guard(router.get('/a', secret), 'handle');
    return [express().use('/x', router)];
  },
  'a router that is mounted': (express) => {
    const router = express.Router();
    const app = express().use('/x', router);
    guard(router.get('/a', secret), 'handle');
    return [app];
  },
  'a router in a router': (express) => {
    const [outer, inner] = [express.Router(), express.Router()];
    const app = express().use('/x', outer.use(inner));
    guard(inner.get('/a', secret), 'handle');
    return [app];
  },
  'all routers, before they are made': (express) => {
    const undo = guard(express.Router.prototype as object, 'handle');
    return [express().use('/x', express.Router().get('/a', secret)), undo];
  },
  'all routers': (express) => {
    const app = express().use('/x', express.Router().get('/a', secret));
    return [app, guard(express.Router.prototype as object, 'handle')];
  },
  'an application that is mounted': (express) => {
    const inner = express();
    const app = express().use('/x', inner);
    guard(inner.get('/a', secret), 'handle');
    return [app];
  },
  'an application': (express) => {
    const app = express();
    guard(app.get('/x/a', secret), 'handle');
    return [app];
  },
  'a route': (express) => {
    const app = express();
    guard(app.route('/x/a').get(secret), 'dispatch');
    return [app];
  },
  'a route without handlers yet': (express) => {
    const app = express();
    const route = app.route('/x/a');
    guard(route, 'dispatch');
    route.get(secret).all((_req, res) => void res.send('all'));
    return [app];
  },
  'a route that a tool has looked at': (express) => {
    const router = express.Router();
    const route = router.route('/a').get(secret, secret);
    expect(router.stack).toHaveLength(1);
    guard(route, 'dispatch');
    return [express().use('/x', router)];
  },
  'all routes, before they are made': (express) => {
    const undo = guard((express as unknown as { Route: { prototype: object } }).Route.prototype, 'dispatch');
    return [express().get('/x/a', secret), undo];
  },
  'all routes': (express) => {
    const app = express().get('/x/a', secret);
    return [app, guard((express as unknown as { Route: { prototype: object } }).Route.prototype, 'dispatch')];
  },
};

test.each(Object.entries(PROGRAMS))('what a program puts in the place of handle or dispatch is called: %s', (_name, make) => onBoth(async (express) => {
  const [app, undo] = make(express);
  try {
    const answers = await answersOf(app, ASKED);
    expect(answers.slice(0, 2)).toEqual([['/x/a', 401, 'no key'], ['/x/a', 200, 'secret']]);
    return answers;
  } finally {
    undo?.();
  }
}));

test.each(Object.entries({
  'a router': (app: IRouter, made: IRouter) => {
    app.use('/x', made.get('/a', secret));
    return () => guard(made, 'handle');
  },
  'a route': (app: IRouter, _made: IRouter) => {
    const route = app.route('/x/a').get(secret);
    return () => guard(route, 'dispatch');
  },
}))('it counts from when it is put there, until it is taken away: %s', (_name, fill) => onBoth(async (express) => {
  const app = express();
  const put = fill(app, express.Router());
  const found = [await answersOf(app, ASKED)];
  const undo = put();
  found.push(await answersOf(app, ASKED));
  undo();
  // Reading it back is all that tells of this; what is registered then does as well.
  app.get('/later', secret);
  found.push(await answersOf(app, ASKED));
  return found;
}));

test('a class made of that of routers has its own handle', () => onBoth(async (express) => {
  class Guarded extends (express.Router as unknown as new () => IRouter & { handle: Called }) {
    override handle: Called = function (req, res, next) {
      if (req.headers['x-key'] === undefined) res.status(401).send('no key');
      else (Object.getPrototypeOf(Guarded.prototype) as { handle: Called }).handle.call(this, req, res, next);
    };
  }
  const router = new Guarded();
  router.get('/a', secret);
  return answersOf(express().use('/x', router), ASKED);
}));

test('a class has a method of its own in the place of handle', async () => {
  class Guarded extends Router {
    override handle(...[req, res, next]: Parameters<InstanceType<typeof Router>['handle']>): void {
      if (req.headers['x-key'] === undefined) res.writeHead(401).end();
      else super.handle(req, res, next);
    }
  }
  for (const make of [() => createServer({ logging: { level: 'silent' } }), () => express({ logging: { level: 'silent' } })]) {
    const port = await running.serve(make().use('/x', new Guarded().get('/a', (_req, res) => res.send('secret'))));
    expect([(await ask(port, '/x/a')).status, (await ask(port, '/x/a', KEY)).body]).toEqual([401, 'secret']);
  }
});

test('it is called in a router within an application too', async () => {
  const [host, router] = [Router(), Router()];
  router.get('/a', (_req, res) => res.send('secret'));
  host.use('/x', router);
  guard(router, 'handle');
  const port = await running.serve(createServer({ logging: { level: 'silent' } }).use(host));
  expect([(await ask(port, '/x/a')).status, (await ask(port, '/x/a', KEY)).body]).toEqual([401, 'secret']);
});

test('it counts whenever, and however often, it is replaced', async () => {
  const step = fc.constantFrom('closed', 'open', 'own', 'itself', 'registered', 'asked');
  await fc.assert(fc.asyncProperty(fc.constantFrom('router', 'app', 'route'), fc.array(step, { minLength: 3, maxLength: 10 }), async (kind, steps) => {
    await onBoth(async (express) => {
      const [app, inner] = [express(), kind === 'app' ? express() : express.Router()];
      app.use('/x', inner);
      const owner = (kind === 'route' ? inner.route('/a').get(secret) : inner.get('/a', secret)) as unknown as Record<string, Called>;
      const name = kind === 'route' ? 'dispatch' : 'handle';
      const own = owner[name] as Called;
      const acts: Record<string, () => unknown> = {
        closed: () => (owner[name] = (_req, res) => void res.writeHead(401).end('closed')),
        open: () => (owner[name] = function open(req, res, next) { own.call(this, req, res, next); }),
        own: () => (owner[name] = own),
        itself: () => (owner[name] = owner[name] as Called),
        registered: () => app.use((_req, _res, next) => next()),
        asked: () => answersOf(app, ['/x/a']),
      };
      const told: unknown[] = [];
      for (const each of [...steps, 'asked', 'registered', 'closed', 'asked']) {
        const outcome = await acts[each]?.();
        if (each === 'asked') told.push(outcome);
      }
      return told;
    });
  }), { numRuns: runs(60) });
});

describe('a prototype that a program puts on a request or response, made of the one that was there, stays', () => {
  const put = (owner: object, members: PropertyDescriptorMap): void => void Object.setPrototypeOf(owner, Object.create(Object.getPrototypeOf(owner) as object, members) as object);
  const seen = (req: Request, res: Response): unknown[] => [(req as unknown as { own: unknown }).own, req.ip, (res as unknown as { own: unknown }).own];
  const show = (req: Request, res: Response): void => void res.json(seen(req, res));
  const MEMBERS = { own: { get: () => 'own' } };

  test.each<[string, (req: Request, res: Response) => void]>([
    ['a request', (req) => put(req, { ...MEMBERS, ip: { get: () => '9.9.9.9' } })],
    ['a response', (_req, res) => put(res, MEMBERS)],
    ['both', (req, res) => {
      put(req, MEMBERS);
      put(res, MEMBERS);
    }],
  ])('%s', (_name, change) => onBoth(async (express) => {
    const app = express();
    const trace: unknown[] = [];
    const note = (req: Request, res: Response, next: NextFunction): void => {
      trace.push(seen(req, res));
      next();
    };
    app.use((req, res, next) => {
      change(req, res);
      note(req, res, next);
    }, note);
    app.use('/x', express.Router().use(note).get('/a', note, show));
    app.get('/later', note, (_req, _res, next) => void setImmediate(next), show);
    app.use('/app', express().get('/a', show));
    app.use((_error: Error, req: Request, res: Response, _next: NextFunction) => show(req, res));
    return [await answersOf(app, ['/x/a', '/later', '/app/a']), trace];
  }));
});
