import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import realExpress, { type Express } from 'express';
import { express } from 'waypost';
import { Running } from './support/running';
import { ask, post } from './support/wire';

const folder = mkdtempSync(join(tmpdir(), 'waypost-called-'));
const running = new Running();
afterEach(() => running.close());
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'page.own'), '');
writeFileSync(join(folder, 'file.txt'), 'of a file');

/** The calls of each function, by its name. */
type Functions = Record<string, string[]>;

/** Notes by what `this` each function of a program is called, and with how many arguments of which kinds. */
class Calls {
  readonly made: Functions = {};
  readonly names = new Map<unknown, string>();

  note<T extends (...given: any[]) => unknown>(name: string, func: T): T {
    const keep = (receiver: unknown, given: unknown[]): void => {
      (this.made[name] ??= []).push(`${this.kindOf(receiver)}: ${given.map((each) => this.kindOf(each)).join(', ')}`);
    };
    const noted = function (this: unknown, ...given: unknown[]): unknown {
      keep(this, given);
      return func.apply(this, given);
    };
    // The number of parameters is what tells error middleware.
    return Object.defineProperty(noted, 'length', { value: func.length }) as unknown as T;
  }

  kindOf(value: unknown): string {
    const known = this.names.get(value);
    if (known !== undefined) return known;
    return value === null ? 'null' : Array.isArray(value) ? 'array' : Buffer.isBuffer(value) ? 'buffer' : value instanceof Error ? 'error' : typeof value;
  }
}

/** Has every kind of function that Express calls called. */
function register(app: Express, make: typeof realExpress, calls: Calls): void {
  const note = calls.note.bind(calls) as Calls['note'];
  calls.names.set(app, 'application');
  app.set('views', folder).engine('own', note('engine', (_path: string, _options: object, done: (error: unknown, text: string) => void) => done(null, 'rendered')));
  app.set('query parser', note('query parser', (text: string) => ({ text })));
  app.set('trust proxy', note('trust proxy', () => true));
  app.set('json replacer', note('json replacer', (_name: string, value: unknown) => value));
  app.use(note('middleware', (req, res, next) => {
    calls.names.set(req, 'request').set(res, 'response');
    next();
  }));
  app.param('id', note('param', (_req, _res, next) => next()));
  app.get('/param/:id', note('handler', (_req, res) => res.send('')));
  app.get('/asked', (req, res) => void res.send([req.ip, req.protocol, req.query]));
  app.get('/render', (_req, res) => res.render('page.own', {}, note('callback of res.render', (_error: unknown, text: string) => void res.send(text))));
  app.get('/rendered', (_req, res) => app.render('page.own', note('callback of app.render', (_error: unknown, text: string) => void res.send(text))));
  app.get('/format', (_req, res) => void res.format({ text: note('format', () => void res.send('text')) }));
  app.get('/default', (_req, res) => void res.format({ default: note('default of format', () => void res.send('text')) }));
  app.get('/json', (_req, res) => void res.json({ a: 1 }));
  app.get('/file', (_req, res) => res.sendFile('file.txt', { root: folder }, note('callback of res.sendFile', () => undefined)));
  app.get('/none', (_req, res) => res.sendFile('none.txt', { root: folder }, note('callback of a failed res.sendFile', () => void res.end())));
  app.get('/download', (_req, res) => res.download(join(folder, 'file.txt'), 'name', note('callback of res.download', () => undefined)));
  app.get('/end', (_req, res) => void res.end('', note('callback of res.end', () => undefined)));
  app.get('/array', [note('handler in an array', (_req, _res, next) => next('route'))]);
  app.get('/error', (_req, _res, next) => next(new Error('raised')));
  app.route('/route').get(note('handler of a route', (_req, res) => res.send('')));
  const router = make.Router();
  router.use(note('middleware of a router', (_req, _res, next) => next()));
  router.param('id', note('param of a router', (_req, _res, next) => next()));
  router.get('/:id', note('handler of a router', (_req, res) => res.send('')));
  app.use('/router', router);
  app.use('/static', make.static(folder, { setHeaders: note('setHeaders', () => undefined) }));
  app.post('/body', make.json({ verify: note('verify', () => undefined), type: note('type', () => true), reviver: note('reviver', (_name: string, value: unknown) => value) }), (_req, res) => void res.send(''));
  app.use(note('error middleware', (_error: unknown, _req: unknown, res: { sendStatus(status: number): void }, _next: unknown) => res.sendStatus(500)));
}

async function calledBy(make: typeof realExpress, options?: object): Promise<Functions> {
  const calls = new Calls();
  const app = (make as (options?: object) => Express)(options);
  register(app, make, calls);
  let said: () => void = () => undefined;
  const listens = new Promise<void>((resolve) => (said = resolve));
  const server: Server = app.listen(0, '127.0.0.1', calls.note('callback of app.listen', function (this: Server) {
    said();
  }));
  calls.names.set(server, 'server');
  running.servers.push(server);
  await listens;
  const { port } = server.address() as { port: number };
  for (const path of ['/param/1', '/asked?a=1', '/render', '/rendered', '/format', '/default', '/json', '/file', '/none', '/download', '/end', '/array', '/error', '/route', '/router/1', '/static/file.txt']) {
    await ask(port, path, { headers: { 'x-forwarded-for': '192.0.2.1', accept: 'text/plain' } });
  }
  await post(port, '/body', '{"a":1}');
  const taken: Server = app.listen(port, '127.0.0.1', calls.note('callback of a failed app.listen', () => said()));
  calls.names.set(taken, 'server');
  await new Promise<void>((resolve) => (said = resolve));
  return calls.made;
}

test('every function of a program is called with the this and the arguments that Express gives it', async () => {
  const theirs = await calledBy(realExpress);
  expect(Object.keys(theirs)).toHaveLength(27);
  expect(await calledBy(express as unknown as typeof realExpress, { env: 'test', logging: { level: 'silent' } })).toEqual(theirs);
});

