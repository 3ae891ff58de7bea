import type { Express, NextFunction, Request, RequestHandler, Response } from 'express';
import { type Application, createServer, express, type Handler, Router } from 'waypost';
import { answerErrors, ExpressOracle } from './support/express-oracle';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

const sees: RequestHandler = (req, res) => void res.json({ params: req.params, base: req.baseUrl });
const notes = (name: string): RequestHandler => (req, res, next) => {
  res.append('Trace', `${name} ${req.baseUrl} ${req.url} ${JSON.stringify(req.params)}`);
  next();
};

describe('on Express and on waypost', () => {
  let oracle: ExpressOracle;

  function program(app: Express): void {
    app.use(/^\/re\/([a-z]+)/, notes('regexp'));
    app.use(/re/, notes('not at the beginning'));
    app.use(/^\/re\/a/, notes('not to the end of a segment'));
    app.use('/opt{/:x}', notes('optional'));
    app.use('/wild/*path', notes('wildcard'));
    app.use('/wild/{*path}', notes('all'));
    app.get(/^\/re\/(?<name>[a-z]+)\/([0-9]+)?$/, sees);
    app.get([/^\/one\/(\d+)$/, '/two/:id', '/three{/:id}'], sees);
    app.get('/files/*path', sees);
    app.get('/page{/:n}', sees);
    app.get('/*dir/index.html', sees);
    app.get('/:"a name".txt', sees);
    app.get('/a\\:b\\*', sees);
    app.get('/twice/*all', (_req, _res, next: NextFunction) => next('route'));
    app.get(/^\/twice\/./, sees);
    app.post('/only/*post', sees);
    app.use((_req, res) => void res.status(404).send('nothing'));
    app.use(answerErrors);
  }

  beforeAll(async () => {
    oracle = await ExpressOracle.start(program, { routing: { caseSensitive: false, ignoreTrailingSlash: true } });
  });
  afterAll(() => oracle.close());

  test.each([
    '/re/abc/42', '/re/abc/', '/re/abc', '/RE/abc/', '/re/a', '/x/re', '/one/7', '/one/x', '/two/7', '/three', '/three/7', '/files', '/files/', '/files/a', '/files/a/b%20c/d%2Fe?q=1', '/files/a/',
    '/page', '/page/', '/page/2', '/page/2/3', '/a/b/index.html', '/index.html', '/x.txt', '/a:b*', '/A:b*', '/twice/a', '/twice/', '/opt', '/opt/a', '/opt/a/b', '/wild', '/wild/', '/wild/a', '/wild/a/b/', '/only/a',
  ])('%s is answered alike', async (path) => {
    expect((await oracle.ask(path)).status).toBeGreaterThan(0);
  });

  test('what is captured and malformed is a 400', async () => {
    const malformed = await oracle.each(async (port) => (await ask(port, '/files/a/%zz')).status);
    expect([malformed, (await oracle.ask('/one/%zz')).status]).toEqual([400, 404]);
  });
});

describe('in an application', () => {
  const says = (name: string): Handler => (_req, res) => res.send(name);

  test('a 405 names the methods of every kind of pattern, and OPTIONS is answered', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' }, routing: { methodNotAllowed: true } });
    app.get('/a/*path', says('get')).post('/a{/:x}', says('post')).put(/^\/a/, says('put'));
    const port = await running.start(app);
    const allow = async (path: string, method: string): Promise<unknown[]> => {
      const { status, headers } = await ask(port, path, { method });
      return [status, headers.allow];
    };
    expect(await allow('/a/b', 'DELETE')).toEqual([405, 'GET, HEAD, POST, PUT, OPTIONS']);
    expect(await allow('/a', 'DELETE')).toEqual([405, 'POST, PUT, OPTIONS']);
    expect(await allow('/a/b/c', 'OPTIONS')).toEqual([204, 'GET, HEAD, PUT, OPTIONS']);
    expect(await allow('/b', 'DELETE')).toEqual([404, undefined]);
  });

  test('an expression with a place of its own answers every request alike', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    app.get(/^\/a(\d)/g, (req, res) => res.send(req.params[0]));
    app.get(/\/y(\d)/y, (req, res) => res.send(req.params[0]));
    const port = await running.start(app);
    const answers: string[] = [];
    for (const path of ['/a1', '/a2', '/a3', '/y4', '/y5']) answers.push((await ask(port, path)).body);
    expect(answers).toEqual(['1', '2', '3', '4', '5']);
  });

  test('routers stand at every kind of path, and see what it captures', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    const router = Router();
    router.use((req, res, next) => {
      res.set('Seen', `${req.baseUrl} ${req.url}`);
      next();
    });
    router.get('/', (req, res) => res.json(['root', req.params]));
    router.get('/:id', (req, res) => res.json(['id', req.params, req.baseUrl]));
    router.get(/^\/(x)\/(y)$/, (req, res) => res.json(['expression', req.params]));
    app.use(/^\/v(\d+)/, router);
    app.use('/t{/:tenant}/r', router);
    app.use('/w/*path', router);
    const port = await running.start(app);
    const answer = async (path: string): Promise<unknown> => {
      const { json, headers } = await ask(port, path);
      return [headers.seen, json];
    };
    expect(await answer('/v12/a')).toEqual(['/v12 /a', ['id', { 0: '12', id: 'a' }, '/v12']]);
    expect(await answer('/v12/x/y')).toEqual(['/v12 /x/y', ['expression', { 0: '12', 1: 'x', 2: 'y' }]]);
    expect(await answer('/v12')).toEqual(['/v12 /', ['root', { 0: '12' }]]);
    expect(await answer('/t/r/7')).toEqual(['/t/r /7', ['id', { id: '7' }, '/t/r']]);
    expect(await answer('/t/acme/r')).toEqual(['/t/acme/r /', ['root', { tenant: 'acme' }]]);
    // As in Express the wildcard leaves nothing.
    expect(await answer('/w/a/b')).toEqual(['/w/a/b /', ['root', { path: ['a', 'b'] }]]);
  });

  test('more combinations than are laid out are looked at one after the other', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    const options = (name: string): string => Array.from({ length: 6 }, (_, index) => `{/${name}${index}}`).join('');
    app.use(`/m${options('a')}`, Router().use(`/n${options('b')}`, Router().get(`/o${options('c')}/:id`, (req, res) => res.json([req.baseUrl, req.params]))));
    const port = await running.start(app);
    expect((await ask(port, '/m/a1/a3/n/b0/b5/o/c4/7')).json).toEqual(['/m/a1/a3/n/b0/b5', { id: '7' }]);
    expect((await ask(port, '/m/n/o/7')).json).toEqual(['/m/n', { id: '7' }]);
    expect((await ask(port, '/m/a3/a1/n/o/7')).status).toBe(404);
  });

  test('handlers of parameters run for what each kind captures, for the segments of each wildcard as in Express', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    const calls: unknown[] = [];
    app.param(['path', 'x', 'year', '0'], (_req, _res, next, value, name) => {
      calls.push([name, value]);
      next();
    });
    const goesOn: Handler = (_req, _res, next) => next();
    app.get('/f/*path', goesOn).get('/f/{*path}', goesOn).get('/o{/:x}', goesOn).get(/^\/(?<year>\d+)\/(\w+)$/, goesOn);
    const port = await running.start(app);
    for (const path of ['/f/a/b', '/f/', '/o', '/o/1', '/2026/may']) await ask(port, path);
    expect(calls).toEqual([['path', ['a', 'b']], ['path', ['a', 'b']], ['x', '1'], ['0', 'may'], ['year', '2026']]);
  });

  test('routes show what they were given', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    const shows: Handler = (req, res) => res.send(String((req as unknown as Request).route.path));
    app.get(/^\/a/, shows).get('/b{/:x}', shows);
    const port = await running.start(app);
    expect([(await ask(port, '/a')).body, (await ask(port, '/b/1')).body]).toEqual(['/^\\/a/', '/b{/:x}']);
  });
});

describe('app.routes()', () => {
  function covered(app: Application): unknown[] {
    return app.routes().map(({ method, path, coveredBy }) => [`${method} ${path}`, coveredBy ?? null]);
  }
  const nothing: Handler = () => undefined;

  test('lists what was given once, and what covers it', () => {
    const app = createServer({ logging: { level: 'silent' } });
    app.get('/f/*path', nothing).get('/f/:x', nothing).get('/f/**', nothing);
    app.get('/o{/:x}', nothing).get('/o', nothing).get('/o/:y', nothing).get('/o/a/b', nothing);
    app.get(/^\/r/, nothing).post(/^\/r/, nothing).get(new RegExp('^\\/r'), nothing);
    app.use('/m', Router().get(/^\/n$/, nothing));
    app.use(/^\/v\d/, Router().get('/x', nothing).all('/x', nothing));
    expect(covered(app)).toEqual([
      ['GET /f/*path', null], ['GET /f/:x', 'GET /f/*path'], ['GET /f/**', 'GET /f/*path'],
      ['GET /o{/:x}', null], ['GET /o', 'GET /o{/:x}'], ['GET /o/:y', 'GET /o{/:x}'], ['GET /o/a/b', null],
      ['GET /^\\/r/', null], ['POST /^\\/r/', null], ['GET /^\\/r/', 'GET /^\\/r/'],
      ['GET /m/^\\/n$/', null], ['GET /^\\/v\\d/x', null], ['ALL /^\\/v\\d/x', null],
    ]);
  });

  test('what takes everything covers all that stands below it', () => {
    const app = createServer({ logging: { level: 'silent' } });
    app.all('/{*all}', nothing).get('/', nothing).get('/a{/:b}', nothing).get(/x/, nothing).get('/:a/*rest', nothing);
    expect(covered(app).slice(1).map((row) => (row as unknown[])[1])).toEqual(Array(4).fill('ALL /{*all}'));
  });

  test('middleware of a router that a sibling at the same expression does not meet is warned of', async () => {
    const log = new LogRecorder();
    const app = createServer({ env: 'test', logging: { logger: log } });
    app.use(/^\/api/, Router().use(nothing).get('/own', nothing));
    app.use(/^\/api/, Router().get('/users', nothing));
    app.use('/x{/:y}', Router().use(nothing).get('/own', nothing));
    app.use('/x{/:y}', Router().get('/users', nothing));
    await running.start(app);
    const warnings = log.messages('warn').filter((line) => line.includes('does not run for'));
    expect(warnings).toEqual([
      expect.stringMatching(/The middleware at \/\^\\\/api\/ of one router does not run for GET \/\^\\\/api\/users, .* write app\.use\(\/\^\\\/api\/, …\)/),
      expect.stringMatching(/The middleware at \/x\{\/:y\} of one router does not run for GET \/x\{\/:y\}\/users/),
    ]);
  });
});

describe('in express()', () => {
  const handler: Handler = (_req, res) => res.end();

  test.each([
    ['/*', '/{*name}', '/:name'],
    ['/api/*', '/api/{*name}', '/api/:name'],
    ['/a/*/b', '/a/{*name}/b', '/a/:name/b'],
    ['/a{/*}', '/a{/{*name}}', '/a{/:name}'],
    ['/*{/a}', '/{*name}{/a}', '/:name{/a}'],
    ['/a\\/*', '/a\\/{*name}', '/a\\/:name'],
  ])('%s is refused wherever it comes to stand, and allowed in createServer()', (path, everything, one) => {
    const message = `route pattern ${JSON.stringify(path)} has a "*" alone in its segment, which took everything in Express 4 and takes one segment in waypost; write ${JSON.stringify(everything)} for everything, or ${JSON.stringify(one)} for one segment`;
    const quiet = { logging: { level: 'silent' } } as const;
    const app = express(quiet);
    expect(() => app.get(path, handler)).toThrow(message);
    expect(() => app.use(path, handler)).toThrow(message);
    expect(() => app.use('/m', Router().use(Router().all(['/fine', path], handler)))).toThrow(message);
    const mounted = Router();
    app.use(Router().use('/m', mounted));
    expect(app.routes()).toEqual([]);
    // What is mounted already is looked at with the next request, or list.
    mounted.route(path);
    expect(() => app.routes()).toThrow(message);
    expect(() => createServer(quiet).get(path, handler)).not.toThrow();
    for (const fine of [everything, one, '/**', '/a\\*', '/:x']) expect(() => express(quiet).get(fine, handler)).not.toThrow();
  });

  test('a star that is part of a name or escaped is none', () => {
    for (const path of ['/:"a/*/b"', '/*"x/*"', '/\\*', '/a\\*/b']) expect(() => express({ logging: { level: 'silent' } }).get(path, handler)).not.toThrow();
  });

  test('a router that is called by hand refuses it with every request, and not where createServer() is around', async () => {
    const router = Router().get('/api/*', (_req, res) => void res.send('one segment'));
    const listens = await running.serve((req, res) => router(req, res, (error) => void res.writeHead(error === undefined ? 404 : 500).end()));
    const app = express({ env: 'test', logging: { level: 'silent' } });
    app.use((req, res, next) => router(req, res, next));
    app.use((error: Error, _req: Request, res: Response, _next: NextFunction) => void res.status(500).send(error.message));
    const own = createServer({ env: 'test', logging: { level: 'silent' } });
    own.use((req, res, next) => router(req, res, next));
    expect([(await ask(listens, '/api/x')).status, (await ask(await running.start(app), '/api/x')).body, (await ask(await running.start(own), '/api/x')).body])
      .toEqual([500, expect.stringContaining('write "/api/{*name}" for everything'), 'one segment']);
  });

  test('the path "/" among several of middleware is that path alone, and an empty path is "/"', async () => {
    const app = express({ env: 'test', logging: { level: 'silent' } });
    app.use(['/', '/home'], (_req, res) => void res.send('home'));
    app.get('', (_req, res) => void res.send('empty'));
    app.use((_req, res) => void res.send('other'));
    const port = await running.start(app);
    expect(await Promise.all(['/', '/home/x', '/x'].map(async (path) => (await ask(port, path)).body))).toEqual(['home', 'home', 'other']);
    const strict = createServer({ env: 'test', logging: { level: 'silent' } });
    strict.get('', (_req, res) => res.send('empty'));
    expect((await ask(await running.start(strict), '/')).body).toBe('empty');
  });
});
