import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join, posix, relative } from 'node:path';
import type { Duplex, Readable } from 'node:stream';
import express from 'express';
import serveStatic from 'serve-static';
import sirv from 'sirv';
import { type Application, createServer, type CreateServerOptions, express as wayExpress, type Handler, type NextFunction, type Request, type Response, Router, type RoutingOptions } from 'waypost';
import { type GuardedScope, type Guards, NAMES } from './guarded-scope';
import { decode, READINGS, restOf } from './target-reading';

/** Who calls the application: its own server, plain node:http, or Express, which mounts it at `/v1`. */
export type Host = 'own' | 'node' | 'express';

export interface WorldSettings {
  readonly scope: GuardedScope;
  readonly routing: Readonly<Required<Pick<RoutingOptions, 'caseSensitive' | 'ignoreTrailingSlash' | 'ignoreDuplicateSlashes'>>>;
  readonly host: Host;
  /** What makes the application. */
  readonly make: 'createServer' | 'express';
  /**
   * What takes requests at the root: routes of any path (which leave nothing to
   * the `.xJson` suffix), an application of waypost and serve-static; or an
   * Express application and sirv.
   */
  readonly root: 'waypost' | 'express';
  /** Undefined builds the same without any check. */
  readonly secret: string | undefined;
}

/** Something that ran. */
export interface Reached {
  readonly place: string;
  /** What it was taken for: its true name, or what it made of the target. */
  readonly name: string;
  /** The method as it was seen there. */
  readonly method: string;
  readonly guarded: boolean;
}

/** A folder with the files among the names. */
export class GuardedFolder {
  readonly path = mkdtempSync(join(tmpdir(), 'waypost-'));

  constructor() {
    for (const name of NAMES.filter((each) => /\.(?:txt|json)$/.test(each))) {
      mkdirSync(dirname(this.path + name), { recursive: true });
      writeFileSync(this.path + name, name);
    }
  }

  remove(): void {
    rmSync(this.path, { recursive: true });
  }
}

/** An application with all in it that may take a request. Everything notes that it ran, and most of it hands on. */
export class GuardedWorld {
  readonly server: Server;
  /** What the path of a target must begin with for the host's sake. */
  readonly base: string;
  readonly #settings: WorldSettings;
  readonly #folder: string;
  readonly #app: Application;
  #reached = new Map<string, Reached[]>();

  private constructor(settings: WorldSettings, folder: GuardedFolder) {
    this.#settings = settings;
    this.#folder = folder.path;
    this.base = settings.host === 'express' ? '/v1' : '';
    const { scope: { includeRoutes, excludeRoutes }, secret, routing, host } = settings;
    const options = { ...quiet, routing, security: security(secret, { includeRoutes, excludeRoutes }) };
    const app = settings.make === 'express' ? wayExpress(options) : createServer(options);
    this.#app = app;
    this.#addDoors(app);
    this.#addCalled(app);
    this.#addMiddleware(app);
    this.#addRoutes(app);
    this.#addRouters(app);
    this.#addApplications(app);
    this.#addExpress(app);
    this.#addFiles(app);
    app.fallback((req, res) => {
      this.#read('fallback', req);
      res.end('fallback');
    });
    app.on('upgrade', (req, socket) => this.#takeUpgrade(req, socket));
    this.server = createHttpServer(host === 'express' ? express().disable('x-powered-by').set('env', 'test').use('/v1', app as unknown as express.RequestHandler) : app);
  }

  static async start(settings: WorldSettings, folder: GuardedFolder): Promise<GuardedWorld> {
    const world = new GuardedWorld(settings, folder);
    if (settings.host === 'own') Object.assign(world, { server: await world.#app.start(0, '127.0.0.1') });
    return world;
  }

  /** Whether it takes requests to switch protocols. */
  get upgrades(): boolean {
    return this.#settings.host === 'own';
  }

  /** What ran since this was last asked, by the `X-Id` of the request. */
  take(): Map<string, Reached[]> {
    const reached = this.#reached;
    this.#reached = new Map();
    return reached;
  }

  close(): Promise<void> {
    return this.#app.close({ timeout: 0 });
  }

  #note(req: IncomingMessage, place: string, name: string, guards: Guards = this.#settings.scope.guards): void {
    const method = req.method ?? '';
    const entry = { place, name, method, guarded: guards(method, name) };
    const id = String(req.headers['x-id']);
    const list = this.#reached.get(id);
    if (list === undefined) this.#reached.set(id, [entry]);
    else list.push(entry);
  }

  /** A handler that learns from the request what it is asked for. */
  #finder(place: string, name: (req: Request) => string, guards?: Guards): Handler {
    return (req: Request, _res: Response, next: NextFunction) => {
      this.#note(req, place, name(req), guards);
      next();
    };
  }

  /** A handler that stands for one thing. */
  #thing(place: string, name: string, guards?: Guards): Handler {
    return this.#finder(place, () => name, guards);
  }

  #read(place: string, req: IncomingMessage): void {
    for (const [reading, read] of Object.entries(READINGS)) this.#note(req, `${place}, ${reading}`, read(req.url ?? ''));
  }

  #takeUpgrade(req: IncomingMessage, socket: Duplex): void {
    this.#read('upgrade', req);
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
  }

  /** Rewrites, in all the places that they may be made in. */
  #addDoors(app: Application): void {
    app.use((req, _res, next) => {
      const method = /[?&]_method=([A-Z]+)/.exec(req.url)?.[1];
      if (method !== undefined) req.method = method;
      next();
    });
    app.use(door('/old', (rest) => rest));
    app.use(door('/norm', (rest) => posix.normalize(decode(rest))));
    app.use('/moved', (req, _res, next) => {
      if (req.url.startsWith('/door/')) req.url = `/private/${req.url.slice(6)}`;
      next();
    });
    if (this.#settings.root === 'express') app.use(express().use(door('/bounce', (rest) => rest) as unknown as express.RequestHandler) as unknown as Handler);
    app.use(createServer(quiet).use(door('/hop', (rest) => rest)));
    app.use((req, _res, next) => {
      if (!req.url.startsWith('/boom/')) return next();
      req.url = req.url.slice(5);
      next(new Error('boom'));
    });
    app.all('/leap/**', (req, _res, next) => {
      req.url = `/${String(req.params['**'])}`;
      next('route');
    });
  }

  /** Routers that are called as a whole: by middleware, by a route, by another framework, or since they hide parameters. */
  #addCalled(app: Application): void {
    const called = Router({ mergeParams: false });
    called.use(door('/spin', (rest) => rest));
    called.use(this.#finder('called router', (req) => req.path));
    for (const name of NAMES) called.all(name, this.#thing('called router', name));
    called.all(/^\/(api|admin)\/(.*)$/i, this.#finder('called router', (req) => `/${(req.params[0] as string).toLowerCase()}/${req.params[1] as string}`));
    called.all('/admin{/:page}', this.#finder('called router', (req) => `/admin${req.params.page === undefined ? '' : `/${req.params.page}`}`));
    app.use((req, res, next) => called(req, res, next));
    app.use((req, res, next) => {
      if (!req.url.startsWith('/hand/')) return next();
      req.url = req.url.slice('/hand'.length);
      called.handle(req, res, next);
    });
    app.all('/pass/**', (req, res, next) => {
      req.url = `/${String(req.params['**'])}`;
      called(req, res, next);
    });
    if (this.#settings.root === 'express') app.use(express().use(called as unknown as express.RequestHandler) as unknown as Handler);
    const hiding = Router({ mergeParams: false });
    hiding.all('/private/:key', this.#finder('router that hides parameters', (req) => `${decode(req.baseUrl.slice(this.base.length))}/private/${String(req.params.key)}`));
    app.use('/:tenant', hiding);
  }

  #addMiddleware(app: Application): void {
    app.use(this.#finder('middleware', (req) => req.path));
    for (const prefix of ['/api', '/admin', '/admin/public', '/u', '/f', '/c', '/café', '/orders', '/moved/private']) {
      app.use(prefix, this.#finder('middleware under a path', (req) => prefix + restOf(req.path)));
      app.use(prefix, this.#finder('middleware that decodes', (req) => prefix + restOf(decode(req.path))));
      app.use(prefix, (error: unknown, req: Request, _res: Response, next: NextFunction) => {
        this.#note(req, 'error middleware', prefix + restOf(req.path));
        next(error);
      });
    }
    app.use('/:tenant/private', this.#finder('middleware under a parameter', (req) => `/${String(req.params.tenant)}/private${restOf(req.path)}`));
  }

  #addRoutes(app: Application): void {
    for (const name of NAMES) app.all(name, this.#thing('route', name));
    app.get('/orders', this.#thing('route of a method', '/orders')).post('/orders', this.#thing('route of a method', '/orders'));
    app.post('/api/users', this.#thing('route of a method', '/api/users')).delete('/api/users', this.#thing('route of a method', '/api/users'));
    app.all('/u/:id(\\d+)', this.#finder('constrained route', (req) => `/u/${String(req.params.id)}`));
    app.all('/c/:code([A-Z]+)', this.#finder('constrained route', (req) => `/c/${String(req.params.code)}`));
    app.all('/f/:name.json', this.#finder('mixed route', (req) => `/f/${String(req.params.name)}.json`));
    app.all('/:tenant/private/:key', this.#finder('route of parameters', (req) => `/${String(req.params.tenant)}/private/${String(req.params.key)}`));
    app.all('/admin/public/**', this.#finder('wildcard that resolves', (req) => posix.normalize(`/admin/public/${String(req.params['**'])}`)));
    app.all('/api/*rest', this.#finder('wildcard with a name', (req) => `/api/${segments(req, 'rest')}`));
    app.all('/admin{/:page}', this.#finder('optional part', (req) => `/admin${req.params.page === undefined ? '' : `/${req.params.page}`}`));
    app.all('/*head/private/:key', this.#finder('wildcard before a parameter', (req) => `/${segments(req, 'head')}/private/${req.params.key as string}`));
    app.all(/^\/(api|admin|c|f)\/(.*)$/i, this.#finder('expression', (req) => `/${(req.params[0] as string).toLowerCase()}/${req.params[1] as string}`));
    if (this.#settings.root === 'express') return;
    app.all('/{*all}', this.#finder('everything', (req) => posix.normalize(`/${segments(req, 'all')}`)));
    app.all('/:area/:name', this.#finder('general route', (req) => `/${String(req.params.area)}/${String(req.params.name)}`));
    app.all('/**', this.#finder('general wildcard', (req) => `/${String(req.params['**'])}`));
    app.all('/**', this.#finder('general wildcard that decodes', (req) => posix.normalize(`/${decode(String(req.params['**']))}`)));
  }

  #addRouters(app: Application): void {
    for (const prefix of ['/api', '/admin']) {
      const router = Router();
      router.use(this.#finder('router middleware', (req) => prefix + restOf(req.path)));
      router.all('/', this.#thing('router', prefix));
      router.all('/key', this.#thing('router', `${prefix}/key`));
      router.all('/users/:id', this.#finder('router', (req) => `${prefix}/users/${String(req.params.id)}`));
      router.all('/public/**', this.#finder('router', (req) => `${prefix}/public/${String(req.params['**'])}`));
      app.use(prefix, router);
    }
    app.use(/^\/(api|admin)(?=\/|$)/i, Router({ mergeParams: true }).all('/key', this.#finder('router at an expression', (req) => `/${(req.params[0] as string).toLowerCase()}/key`)));
    app.use('/admin{/:part}', Router().use(this.#finder('router at an optional part', (req) => req.baseUrl.toLowerCase() + restOf(req.path))));
    app.use('/api/*rest', this.#finder('middleware under a wildcard', (req) => `/api/${segments(req, 'rest')}`));
    app.use('/:tenant', Router({ mergeParams: true }).all('/private/:key', this.#finder('router under a parameter', (req) => `/${String(req.params.tenant)}/private/${String(req.params.key)}`)));
  }

  /** Mounted applications of waypost, whose routing is as different as can be. */
  #addApplications(app: Application): void {
    const { caseSensitive, ignoreTrailingSlash, ignoreDuplicateSlashes } = this.#settings.routing;
    const routing = { caseSensitive: !caseSensitive, ignoreTrailingSlash: !ignoreTrailingSlash, ignoreDuplicateSlashes: !ignoreDuplicateSlashes };
    const inner = createServer({ ...quiet, routing });
    inner.use(this.#finder('mounted application', (req) => `/api/inner${restOf(req.path)}`));
    inner.all('/secret', this.#thing('mounted application', '/api/inner/secret'));
    inner.all('/a/:b', this.#finder('mounted application', (req) => `/api/inner/a/${String(req.params.b)}`));
    app.use('/api/inner', inner);
    const guards: Guards = (_, name) => name === '/private' || name.startsWith('/private/');
    const vault = createServer({ ...quiet, routing, security: security(this.#settings.secret, { includeRoutes: ['/private/**'] }) });
    vault.use('/private', this.#finder('application with a scope of its own', (req) => `/private${restOf(req.path)}`, guards));
    vault.all('/private/:key', this.#finder('application with a scope of its own', (req) => `/private/${String(req.params.key)}`, guards));
    vault.use(this.#finder('application with a scope of its own', (req) => decode(req.path), guards));
    app.use('/vault', vault);
    if (this.#settings.root === 'express') return;
    const whole = createServer({ ...quiet, routing });
    for (const name of NAMES) whole.all(name, this.#thing('application at the root', name));
    app.use(whole);
  }

  #addExpress(app: Application): void {
    const thing = (place: string, name: (req: express.Request) => string): express.RequestHandler => (req, _res, next) => {
      this.#note(req, place, name(req));
      next();
    };
    const lenient = express();
    lenient.all('/secret', thing('Express', () => '/api/express/secret'));
    lenient.all('/:id', thing('Express', (req) => `/api/express/${String(req.params.id)}`));
    app.use('/api/express', lenient as unknown as Handler);
    const strict = express().enable('strict routing').enable('case sensitive routing');
    strict.all('/secret', thing('strict Express', () => '/legacy/secret'));
    app.use('/legacy', strict as unknown as Handler);
    if (this.#settings.root === 'waypost') return;
    const whole = express();
    for (const name of NAMES) whole.all(encodeURI(name), thing('Express at the root', () => name));
    whole.all('/u/:id', thing('Express at the root', (req) => `/u/${req.params.id as string}`));
    whole.all('/:tenant/private/:key', thing('Express at the root', (req) => `/${req.params.tenant as string}/private/${req.params.key as string}`));
    whole.use('/api', thing('Express middleware', (req) => `/api${restOf(req.path)}`));
    whole.all('/*splat', thing('Express at the root', (req) => `/${(req.params.splat as unknown as string[]).join('/')}`));
    app.use(whole as unknown as Handler);
  }

  #addFiles(app: Application): void {
    const served = (res: ServerResponse, path: string): void => this.#note(res.req, 'serve-static', `/${relative(this.#folder, path)}`);
    app.use('/api/files', serveStatic(`${this.#folder}/api/files`, { index: false, setHeaders: served }) as unknown as Handler);
    app.use((_req, res, next) => {
      // sirv leaves files open for clients that have gone: ten million requests leave more of them than a process may have.
      res.once('pipe', (file: Readable) => (res.closed ? file.destroy() : res.once('close', () => file.destroy())));
      next();
    });
    if (this.#settings.root === 'waypost') app.use(serveStatic(this.#folder, { index: false, setHeaders: served }) as unknown as Handler);
    else app.use(sirv(this.#folder, { dev: true, extensions: [], setHeaders: (res, path) => this.#note(res.req, 'sirv', posix.normalize(path)) }) as unknown as Handler);
  }
}

const quiet: CreateServerOptions = { env: 'test', logging: { level: 'silent' } };

function security(secret: string | undefined, requestSignature: { includeRoutes?: GuardedScope['includeRoutes']; excludeRoutes?: GuardedScope['excludeRoutes'] }): CreateServerOptions['security'] {
  return secret === undefined ? {} : { requestSignature: { secret }, routeConfig: { requestSignature } };
}

/** What a wildcard has captured, as a path. */
function segments({ params }: Request, name: string): string {
  return ((params[name] ?? []) as unknown as string[]).join('/');
}

/** Middleware that takes a request behind a prefix to the path that stands there. */
function door(prefix: string, lead: (rest: string) => string): Handler {
  return (req: Request, _res: Response, next: NextFunction) => {
    if (req.url.startsWith(`${prefix}/`)) req.url = lead(req.url.slice(prefix.length));
    next();
  };
}
