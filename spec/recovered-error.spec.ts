import type { ErrorRequestHandler, Request, Response } from 'express';
import { type Application, createServer, type ErrorHandler, express, type Handler, Router } from 'waypost';
import { answersOf, type ExpressModule, onBoth } from './support/both-expresses';
import { Running } from './support/running';
import { ask } from './support/wire';

const makes: Record<string, (req: Request) => void> = {
  'another method': (req) => void (req.method = 'PUT'),
  'another query': (req) => void (req.url += '?z=1'),
  'no other target': () => undefined,
};
const fail = (): never => {
  throw new Error('x');
};

/** Where another target is made, and an error raised behind it. */
const PLACES: Record<string, (express: ExpressModule, make: (req: Request) => void) => (root: ReturnType<ExpressModule>) => unknown> = {
  'a mounted application': (express, make) => (root) => root.use('/a', express().use((req, _res, next) => { make(req); next(); }, fail)),
  'a route': (_, make) => (root) => root.all('/a/b', (req, _res, next) => { make(req); next(); }, fail),
  'a route of a router': (express, make) => (root) => root.use('/a', express.Router().all('/b', (req, _res, next) => { make(req); next(); }, fail)),
  'middleware of a router': (express, make) => (root) => root.use('/a', express.Router().use((req, _res, next) => { make(req); next(); }, fail)),
  'middleware': (_, make) => (root) => root.use((req, _res, next) => { make(req); next(); }, fail),
};

const cells = Object.keys(PLACES).flatMap((place) => Object.keys(makes).map((made) => [place, made] as const));

test.each(cells)('what an error has passed by does not run once it is dealt with, in Express\'s order: %s, %s', async (place, made) => {
  await onBoth(async (express) => {
    const called: string[] = [];
    const note = (name: string) => (_req: unknown, _res: unknown, next: () => void): void => {
      called.push(name);
      next();
    };
    const app = express();
    PLACES[place]?.(express, makes[made] as (req: Request) => void)(app);
    app.use(note('passed by'));
    app.use('/a', note('passed by, /a'), express.Router().use(note('passed by, in a router')));
    app.use(((_error, req, _res, next) => {
      called.push(`dealt with ${req.method} ${req.url}`);
      next();
    }) as ErrorRequestHandler);
    app.use(note('behind'));
    app.use((_req, res) => void res.send('final'));
    return [await answersOf(app, ['/a/b']), called];
  });
});

test.each<[string, (res: Response) => unknown]>([
  ['sendFile', (res) => res.sendFile('none.txt', { root: __dirname })],
  ['download', (res) => res.download('none.txt', 'none.txt', { root: __dirname })],
  ['format', (res) => res.format({ 'image/png': () => undefined })],
  ['render', (res) => res.render('none')],
])('an error of res.%s goes to error middleware past the route', async (_name, answer) => {
  await onBoth((express) => {
    const app = express();
    app.get('/', (_req: Request, res: Response) => void answer(res), ((_error, _req, res, _next) => void res.send('of the route')) as ErrorRequestHandler);
    app.use(((_error, _req, res, _next) => void res.status(201).send('of the application')) as ErrorRequestHandler);
    return answersOf(app, [['/', { headers: { accept: 'text/plain' } }]]);
  });
});

test.each(['express', 'createServer'] as const)('a guard of a new path that an error came with runs, whatever is made of its query meanwhile: %s', async (make) => {
  const running = new Running();
  const called: string[] = [];
  const note = (name: string): Handler => (_req, _res, next) => {
    called.push(name);
    next();
  };
  const app = (make === 'express' ? express({ logging: { level: 'silent' } }) : createServer({ logging: { level: 'silent' } })) as Application;
  app.use((req, _res, next) => {
    req.url = '/b';
    next(new Error('x'));
  });
  app.use('/b', note('guard'));
  app.use(((error, req, _res, next) => {
    req.url += '?z';
    next(error);
  }) as ErrorHandler);
  app.use(((_error, _req, _res, next) => next()) as ErrorHandler);
  app.use('/b', note('behind'), (_req, res) => res.end());
  try {
    await ask(await running.serve(app), '/a');
    expect(called).toEqual(['guard', 'behind']);
  } finally {
    await running.close();
  }
});

/** When something is registered while an error is dealt with that came with another path. */
const MOMENTS: Record<string, (register: () => void, next: (error?: unknown) => void) => void> = {
  never: (_register, next) => next(),
  'before it is dealt with': (register, next) => {
    register();
    next();
  },
  'while that takes its time': (register, next) => {
    setImmediate(register);
    setImmediate(setImmediate, next);
  },
};
const surroundings = (['express', 'createServer'] as const).flatMap((make) => Object.keys(MOMENTS).flatMap((moment) => (['the application', 'a router'] as const).map((within) => [make, moment, within] as const)));

test.each(surroundings)('a guard of a new path that an error came with runs, whatever is registered meanwhile: %s, %s, in %s', async (make, moment, within) => {
  const running = new Running();
  const called: string[] = [];
  const app = (make === 'express' ? express({ logging: { level: 'silent' } }) : createServer({ logging: { level: 'silent' } })) as Application;
  app.use('/b', (_req, _res, next) => {
    called.push('guard');
    next();
  });
  const inner = within === 'a router' ? Router() : app;
  inner.use((req, _res, next) => {
    req.url = '/b';
    next(new Error('x'));
  });
  if (inner !== app) app.use(inner);
  app.use(((_error, _req, _res, next) => MOMENTS[moment]?.(() => app.get('/registered', (_req, res) => void res.end()), next)) as ErrorHandler);
  app.get('/b', (_req, res) => {
    called.push('route');
    res.end();
  });
  try {
    await ask(await running.serve(app), '/a');
    expect(called).toEqual(['guard', 'route']);
  } finally {
    await running.close();
  }
});
