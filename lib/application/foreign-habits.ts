import { assign } from '../http/assignable';

/**
 * Methods of other frameworks, and the replacement here. Names by which
 * packages detect a framework are left out: `callback` (Koa's).
 */
const FOREIGN_METHODS: Readonly<Record<string, readonly [framework: string, instead: string]>> = {
  register: ['Fastify', 'write app.use(path, router), with what the plugin registers in a Router()'],
  decorate: ['Fastify', 'write app.locals.name = value'],
  decorateRequest: ['Fastify', 'set it in middleware above the routes: app.use((req, res, next) => { req.name = value; next(); })'],
  decorateReply: ['Fastify', 'set it in middleware above the routes: app.use((req, res, next) => { res.name = value; next(); })'],
  addHook: ['Fastify', 'write middleware above the routes: app.use((req, res, next) => { …; next(); }), and in it res.on("finish", …) for what comes behind the answer'],
  setErrorHandler: ['Fastify', 'write error middleware below the routes: app.use((error, req, res, next) => …)'],
  setNotFoundHandler: ['Fastify', 'write middleware below the routes: app.use((req, res) => res.status(404)…)'],
  addContentTypeParser: ['Fastify', 'write a parser above the routes, such as app.use(raw({ type })), which waypost exports'],
  addSchema: ['Fastify', 'check req.body in a handler above the one that takes it'],
  setValidatorCompiler: ['Fastify', 'check req.body in a handler above the one that takes it'],
  setSerializerCompiler: ['Fastify', 'write res.json(data), or res.xJson(data) for any data'],
  printRoutes: ['Fastify', 'write console.table(app.routes())'],
  ready: ['Fastify', 'leave it out: app.start() and app.inject() need nothing before them'],
  onError: ['Hono', 'write error middleware below the routes: app.use((error, req, res, next) => …)'],
  notFound: ['Hono', 'write middleware below the routes: app.use((req, res) => res.status(404)…)'],
  basePath: ['Hono', 'write app.use(path, router), with the routes in a Router()'],
};

/** The warning for a listener that is never called. @throws TypeError for a route, as Hono registers it. */
export function warningOf(event: unknown, listener: unknown): string | undefined {
  if (typeof listener === 'string') throw new TypeError('app.on() takes an event and a function: write app.get(path, handler) for Hono\'s app.on(method, path, handler)');
  return event === 'error' ? 'app.on("error", …) hears nothing, other than in Koa: write error middleware below the routes, app.use((error, req, res, next) => …)' : undefined;
}

const THROWING_METHODS: PropertyDescriptorMap = Object.fromEntries(Object.entries(FOREIGN_METHODS).map(([name, [framework, instead]]) => {
  const method = (): never => { throw new TypeError(`app.${name}() is ${framework}'s: ${instead}`); };
  return [name, { configurable: true, get: () => method, set(this: object, value: unknown) { assign(this, name, value); } }];
}));

/**
 * Makes such calls throw a TypeError. Uses own properties, since packages look
 * for some of these names on the prototype of Express's applications.
 */
export function answerHabits<App extends object>(app: App): App {
  return Object.defineProperties(app, THROWING_METHODS);
}
