import type { ForeignMethod } from './foreign-habits';

/** Methods of other frameworks, and what to write instead. */
const FOREIGN_METHODS: Readonly<Record<ForeignMethod, readonly [framework: string, instead: string]>> = {
  register: ['Fastify', 'write app.use(path, router), with what the plugin registers in a Router()'],
  decorate: ['Fastify', 'write app.locals.name = value'],
  decorateRequest: ['Fastify', 'set it in middleware above the routes: app.use((req, res, next) => { req.name = value; next(); })'],
  decorateReply: ['Fastify', 'set it in middleware above the routes: app.use((req, res, next) => { res.name = value; next(); })'],
  addHook: ['Fastify', 'write middleware above the routes: app.use((req, res, next) => { …; next(); }), and in it res.on("finish", …) for what comes behind the answer'],
  setErrorHandler: ['Fastify', 'write error middleware below the routes: app.use((error, req, res, next) => …)'],
  setNotFoundHandler: ['Fastify', 'write middleware below the routes: app.use((req, res) => res.status(404)…)'],
  addContentTypeParser: ['Fastify', 'write a parser above the routes, such as app.use(raw({ type })), which waypost exports'],
  addSchema: ['Fastify', 'give the schema to each route: app.post(path, { body: schema }, handler)'],
  setValidatorCompiler: ['Fastify', 'give routes a schema with a validator of its own, of any Standard Schema library: app.post(path, { body: schema }, handler)'],
  setSerializerCompiler: ['Fastify', 'write res.json(data), or res.xJson(data) for any data'],
  printRoutes: ['Fastify', 'write console.table(app.routes())'],
  ready: ['Fastify', 'leave it out: app.start() and app.inject() need nothing before them'],
  onError: ['Hono', 'write error middleware below the routes: app.use((error, req, res, next) => …)'],
  notFound: ['Hono', 'write middleware below the routes: app.use((req, res) => res.status(404)…)'],
  basePath: ['Hono', 'write app.use(path, router), with the routes in a Router()'],
};

/** The error of a call of such a method. */
export function errorFor(name: ForeignMethod): TypeError {
  const [framework, instead] = FOREIGN_METHODS[name];
  return new TypeError(`app.${name}() is ${framework}'s: ${instead}`);
}
