import type { ErrorRequestHandler, Request, Response } from 'express';
import { answersOf, type ExpressModule, onBoth } from './support/both-expresses';

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
