import fc from 'fast-check';
import type { ErrorRequestHandler, RequestHandler, Router } from 'express';
import { answersOf, type ExpressModule, onBoth } from './support/both-expresses';
import { runs } from './support/runs';
import { Running } from './support/running';
import { ask } from './support/wire';

const assigns = (base: unknown): RequestHandler => (req, _res, next) => {
  req.baseUrl = base as string;
  next();
};
const tells: RequestHandler = (req, res) => void res.send(`${req.baseUrl} ${req.url} ${req.originalUrl}`);
const notes = (name: string): RequestHandler => (req, res, next) => {
  res.append('X-Seen', `${name}:${req.baseUrl}:${req.url}`);
  next();
};

type Fill = (app: ReturnType<ExpressModule>, express: ExpressModule) => void;

/** What a program makes of `req.baseUrl`, by Express and by waypost. */
const PROGRAMS: readonly (readonly [string, Fill])[] = [
  ['a route', (app) => void app.use(assigns('/pre')).get('/y', tells)],
  ['the second handler of a route', (app) => void app.get('/y', assigns('/pre'), tells)],
  ['middleware without a path', (app) => void app.use(assigns('/pre'), notes('one')).use(notes('two')).use(tells)],
  ['middleware with a path', (app) => void app.use(assigns('/pre')).use('/y', notes('one')).use(notes('two')).use(tells)],
  ['middleware with the path that assigns it', (app) => void app.use('/y', assigns('/pre'), notes('one')).use('/y', notes('two')).use(tells)],
  ['a router without a path', (app, express) => void app.use(assigns('/pre')).use(express.Router().use(notes('in')).use('/y', notes('at')).use(notes('behind')).get('/y', tells)).use(tells)],
  ['what stands behind such a router that assigns it', (app, express) => void app.use(express.Router().use(assigns('/pre'), notes('in'))).use(notes('out')).use(tells)],
  ['a router with a path', (app, express) => void app.use(assigns('/pre')).use('/y', express.Router().use(notes('in'), assigns('/zz'), notes('on')).use('/z', notes('at')).get('/z', tells).use(tells)).use(tells)],
  ['a router within such a router', (app, express) => {
    const inner = express.Router().use(notes('inner')).get('/:w', tells);
    app.use('/y', express.Router().use(assigns('/zz')).use(inner).use(notes('behind'))).use(tells);
  }],
  ['a parameter of a router without a path', (app, express) => void app.use(assigns('/zz')).use(express.Router().use('/:w', tells))],
  ['an application within', (app, express) => void app.use(assigns('/zz')).use(express().use(notes('in')).use('/y', notes('at')).get('/y/z', tells)).use(tells)],
  ['an application with a path', (app, express) => void app.use(assigns('/zz')).use('/y', express().use(notes('in'), assigns('/more')).get('/z', tells)).use(tells)],
  ['what changes the URL too', (app) => void app.use((req, _res, next) => {
    req.baseUrl = '/pre';
    req.url = '/y';
    next();
  }).get('/y', tells).use(tells)],
  ['what changes the URL at a path', (app) => void app.use('/y', (req, _res, next) => {
    req.baseUrl = '/pre';
    req.url = '/z?new';
    next();
  }).use(notes('on')).use(tells)],
  ['what fails', (app) => {
    const caught: ErrorRequestHandler = (_error, req, res, next) => void tells(req, res, next);
    app.use(assigns('/pre'), () => {
      throw new Error('no');
    }).use(caught);
  }],
  ['a handler of a parameter', (app) => {
    app.param('w', (req, _res, next) => {
      req.baseUrl += '/param';
      next();
    });
    app.use('/:w', notes('at')).get('/:w{/*rest}', tells).use(tells);
  }],
  ['a handler of a parameter behind what assigns it', (app, express) => {
    app.use(assigns('/pre'));
    app.param('w', (req, res, next) => {
      res.append('X-Seen', `param:${req.baseUrl}:${req.url}`);
      next();
    });
    app.use('/:w', express.Router().get('/z', tells)).get('/:w', tells).use(tells);
  }],
  ['nothing', (app, express) => void app.use(assigns(undefined)).use(express.Router().use('/:w', tells)).use(tells)],
  ['what is assigned twice', (app, express) => void app.use(assigns('/one')).use(express.Router().use(assigns(''), notes('in'))).use(notes('out')).use(assigns(''), notes('last')).use(tells)],
];

describe('req.baseUrl that a program assigns, as by Express', () => {
  it.each(PROGRAMS)('%s', async (_name, fill) => {
    const answers = await onBoth((express) => {
      const app = express();
      fill(app, express);
      return answersOf(app as never, ['/y', '/y/z', '/other'], ['x-seen']);
    });
    expect(answers.some((answer) => (answer as unknown[])[1] === 200)).toBe(true);
  });
});

interface Part {
  readonly path: string | null;
  readonly item: 'notes' | 'assigns' | 'empties' | 'rewrites' | 'route' | readonly Part[];
  readonly isApplication: boolean;
}

const PATHS = [null, null, null, '/', '/a', '/a', '/a/b', '/:w', '/b', '/a{/:x}', '/*w'];
const parts = fc.letrec<{ part: Part; parts: readonly Part[] }>((tie) => ({
  part: fc.record({
    path: fc.constantFrom(...PATHS),
    item: fc.oneof({ maxDepth: 3, depthIdentifier: 'base' },
      { weight: 5, arbitrary: fc.constantFrom('notes' as const, 'notes' as const, 'assigns' as const, 'assigns' as const, 'empties' as const, 'rewrites' as const, 'route' as const) },
      { weight: 3, arbitrary: tie('parts') }),
    isApplication: fc.nat(3).map((number) => number === 0),
  }),
  parts: fc.array(tie('part'), { minLength: 1, maxLength: 5, depthIdentifier: 'base' }),
})).parts;

function fill(into: Router, all: readonly Part[], express: ExpressModule, seen: string[], count = { id: 0 }): void {
  // In Express a router takes back what was assigned for having a path, whether or not anything in it is called: here something always is.
  into.use((req, _res, next) => {
    seen.push(`in ${req.baseUrl} ${req.url}`);
    next();
  });
  for (const { path, item, isApplication } of all) {
    const id = ++count.id;
    const own = path === null ? [] : [path];
    const note: RequestHandler = (req, _res, next) => {
      seen.push(`${id} ${req.baseUrl} ${req.url}`);
      if (item === 'assigns') req.baseUrl = `/given${id}`;
      if (item === 'empties') req.baseUrl = '';
      // Another path would have what stands above called for it, which is another difference from Express.
      if (item === 'rewrites') req.url += req.url.includes('?') ? 'x' : '?x';
      next();
    };
    if (typeof item !== 'string') {
      const inner = isApplication ? express() : express.Router();
      fill(inner as Router, item, express, seen, count);
      into.use(...own as [string], inner as Router);
    } else if (item === 'route') {
      into.get(path ?? '/a', note, note);
    } else {
      into.use(...own as [string], note);
    }
  }
}

describe('random programs that assign it', () => {
  it('show it as Express does', async () => {
    await fc.assert(fc.asyncProperty(parts, fc.array(fc.constantFrom('/a', '/a/b', '/a/b/c', '/b', '/a/a/a', '/'), { minLength: 2, maxLength: 3 }), async (program, targets) => {
      await onBoth(async (express) => {
        const app = express();
        const seen: string[] = [];
        fill(app as never as Router, program, express, seen);
        app.use(tells);
        return [await answersOf(app as never, targets), seen];
      });
    }), { numRuns: runs(150) });
  }, 120_000);
});

describe('in createServer()', () => {
  const running = new Running();
  afterEach(() => running.close());

  it('it stays until something with a path is called', async () => {
    const port = await running.app((app) => {
      app.use((req, _res, next) => {
        req.baseUrl = '/pre';
        next();
      });
      app.get('/y', (req, res) => res.send(`${req.baseUrl} ${req.url}`));
      app.use('/z', (req, res) => void res.send(`${req.baseUrl} ${req.url}`));
    });
    expect((await ask(port, '/y')).body).toBe('/pre /y');
    expect((await ask(port, '/z/1')).body).toBe('/z /1');
  });
});
