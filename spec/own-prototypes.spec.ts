import { EventEmitter } from 'node:events';
import { createServer as createHttpServer, IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import { inject } from 'light-my-request';
import { createServer, express, Request, Response, Router } from 'waypost';
import { answersOf, onBoth } from './support/both-expresses';
import { portOf } from './support/running';
import { ask } from './support/wire';

type Extended = Record<string, (this: { send(text: string): void; url: string }, ...given: unknown[]) => unknown>;

describe('prototypes that a program extends', () => {
  test('app.request and app.response: of that application, and of those mounted in it', async () => {
    await onBoth(async (lib) => {
      const [outer, inner, other] = [lib(), lib(), lib()];
      (outer.request as unknown as Extended)['told'] = function () { return `outer ${this.url}`; };
      (outer.response as unknown as Extended)['tell'] = function (text) { this.send(`told ${String(text)}`); };
      (inner.request as unknown as Extended)['mine'] = () => 'inner';
      const tell = (req: unknown, res: unknown): void => {
        const { told, mine } = req as Record<string, (() => string) | undefined>;
        (res as { tell(text: string): void }).tell(`${told?.call(req) ?? ''} ${mine?.call(req) ?? ''}`);
      };
      inner.get('/x', tell);
      outer.use('/in', inner);
      outer.get('/y', tell);
      other.get('/z', (req, res) => void res.send(String('told' in req || 'tell' in res)));
      return [await answersOf(outer, ['/in/x', '/y']), await answersOf(other, ['/z']), await answersOf(inner, ['/x'])];
    });
  });

  test.each([createServer, express])('app.request and app.response cannot be replaced', (make) => {
    const app = make({ logging: false });
    for (const name of ['request', 'response'] as const) expect(() => { app[name] = Object.create(app[name]) as object; }).toThrow(`app.${name} cannot be replaced; add to it`);
  });

  test('express.request, express.response and express.application: of all', async () => {
    expect([express.request, express.response, express.Route.name, express.Router.Route === express.Route]).toEqual([Request.prototype, Response.prototype, 'Route', true]);
    try {
      Object.assign(express.request, { asked: () => 'asked' });
      Object.assign(express.response, { told() { (this as unknown as Response).send('told'); } });
      Object.assign(express.application, { answering(this: ReturnType<typeof express>) { return this.get('/', (_req, res) => (res as unknown as { told(): void }).told()); } });
      const app = (express({ logging: { level: 'silent' } }) as unknown as { answering(): RequestListener }).answering();
      expect(await answersOf(app, ['/'])).toEqual([['/', 200, 'told']]);
      expect(Object.getPrototypeOf(createServer().request)).toBe(express.request);
    } finally {
      for (const [prototype, name] of [[express.request, 'asked'], [express.response, 'told'], [express.application, 'answering']] as const) delete (prototype as unknown as Record<string, unknown>)[name];
    }
  });

  test('methods that a program replaces on the classes are those of applications too', () => {
    const { use, route } = Router.prototype;
    const seen: string[] = [];
    try {
      Router.prototype.use = function (this: Router, ...given: never[]) { seen.push('use'); return use.apply(this, given as never); } as unknown as typeof use;
      Router.prototype.route = function (this: unknown, path) { seen.push('route'); return route.call(this as never, path); } as typeof route;
      const app = express({ logging: { level: 'silent' } });
      app.use(() => undefined);
      app.get('/a', () => undefined).purge('/b', () => undefined);
    } finally {
      Object.assign(Router.prototype, { use, route });
    }
    expect(seen).toEqual(['use', 'route', 'route']);
  });

  test('an application that is mounted answers its own errors by its own settings, also by hand', async () => {
    const [outer, inner] = [createServer({ env: 'production', logging: { level: 'silent' } }), createServer({ env: 'development', logging: { level: 'silent' } })];
    outer.use('/in', inner);
    inner.use('/here', (req, res) => { res.statusCode = 200; outer(req, res); });
    outer.use('/here', () => { throw new Error('outer'); });
    outer.use('/fails', () => { throw new Error('outer'); });
    inner.use('/fails', () => { throw new Error('inner'); });
    const server = createHttpServer(inner).listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    expect((await ask(portOf(server), '/fails')).body).toContain('inner');
    expect((await ask(portOf(server), '/here/fails')).body).not.toContain('stack');
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('requests and responses that are not made of Node\'s classes', () => {
  test.each([['createServer', () => createServer({ logging: { level: 'silent' } })], ['express()', () => express({ logging: { level: 'silent' } }).use(express.json())]] as const)('of light-my-request, by %s', async (_name, make) => {
    const app = make();
    app.post('/a/:id', (req, res) => res.status(201).json({ id: req.params.id, body: req.body as unknown, type: req.get('content-type') }));
    app.get('/parts', (_req, res) => { res.write('a'); res.end('b'); });
    const asked = async (options: object): Promise<unknown> => {
      const { statusCode, body } = await inject(app as unknown as RequestListener, options as never);
      return [statusCode, body];
    };
    expect(await asked({ method: 'POST', url: '/a/7', payload: { x: 1 } })).toEqual([201, '{"id":"7","body":{"x":1},"type":"application/json"}']);
    expect(await asked({ url: '/parts' })).toEqual([200, 'ab']);
    expect(await asked({ url: '/none' })).toEqual([404, '{"error":"Not Found","message":"Cannot GET /none"}']);
    // The library puts its classes beneath those of Express; servers of the process must go on.
    expect([Object.getPrototypeOf(Request), Object.getPrototypeOf(Response.prototype) === ServerResponse.prototype || Response.prototype instanceof ServerResponse, Request.prototype instanceof IncomingMessage])
      .toEqual([expect.any(Function), true, true]);
    expect(await answersOf(app, ['/parts'])).toEqual([['/parts', 200, 'ab']]);
  });

  test('made of plain objects', async () => {
    const app = express({ env: 'production', logging: { level: 'silent' } });
    app.get('/a/:id', (req, res) => void (res as unknown as Record<string, (value: unknown) => void>)['end']!(`${req.params.id} ${String(req.get('x-a'))} ${String(req.query['q'])}`));
    app.get('/fails', () => { throw Object.assign(new Error('no'), { status: 418, expose: true }); });
    const asked = (url: string): Promise<unknown> => new Promise((resolve) => {
      const req = Object.assign(Object.create(EventEmitter.prototype) as EventEmitter, { method: 'GET', url, headers: { 'x-a': '1' } });
      const res = Object.assign(Object.create(EventEmitter.prototype) as EventEmitter, { statusCode: 200, setHeader: () => undefined, getHeader: () => undefined });
      app(req as never, Object.assign(res, { end: (body: unknown) => resolve([res.statusCode, String(body)]) }) as never);
    });
    expect(await asked('/a/7?q=2')).toEqual([200, '7 1 2']);
    expect(await asked('/none')).toEqual([404, '{"error":"Not Found","message":"Cannot GET /none"}']);
    expect(await asked('/fails')).toEqual([418, '{"error":"I\'m a Teapot","message":"no"}']);
  });
});
