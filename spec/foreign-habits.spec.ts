import { METHODS } from 'node:http';
import { inspect } from 'node:util';
import { type Application, createServer, express, Router } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

type Foreign = Record<string, (...given: unknown[]) => unknown>;

const silent = (): Application => createServer({ logging: { level: 'silent' } });

/** What programs for other frameworks call on the application, and what the answer says. */
const HABITS: readonly (readonly [name: string, given: readonly unknown[], words: RegExp])[] = [
  ['register', [() => undefined, { prefix: '/v1' }], /^app\.register\(\) is Fastify's: write app\.use\(path, router\)/],
  ['decorate', ['db', {}], /^app\.decorate\(\) is Fastify's: write app\.locals\.name = value/],
  ['decorateRequest', ['user', null], /app\.use\(\(req, res, next\)/],
  ['decorateReply', ['view', null], /app\.use\(\(req, res, next\)/],
  ['addHook', ['onRequest', () => undefined], /middleware above the routes/],
  ['setErrorHandler', [() => undefined], /app\.use\(\(error, req, res, next\)/],
  ['setNotFoundHandler', [() => undefined], /app\.use\(\(req, res\) => res\.status\(404\)/],
  ['addContentTypeParser', ['text/csv', () => undefined], /raw\({ type }\)/],
  ['addSchema', [{}], /body: schema/],
  ['setValidatorCompiler', [() => undefined], /body: schema/],
  ['setSerializerCompiler', [() => undefined], /res\.json\(data\)/],
  ['printRoutes', [], /console\.table\(app\.routes\(\)\)/],
  ['ready', [], /app\.start\(\) and app\.inject\(\)/],
  ['onError', [() => undefined], /is Hono's: write error middleware below the routes/],
  ['notFound', [() => undefined], /app\.use\(\(req, res\) => res\.status\(404\)/],
  ['basePath', ['/api'], /app\.use\(path, router\)/],
];

test.each(HABITS)('app.%s(…) is answered with what to write here', (name, given, words) => {
  const app = silent() as unknown as Foreign;
  expect(() => app[name]!(...given)).toThrow(TypeError);
  expect(() => app[name]!(...given)).toThrow(words);
});

test.each(HABITS)('app.%s is a program\'s to set, and stands in no list of what an application has', (name) => {
  const app = silent() as unknown as Foreign;
  expect([Object.keys(app).includes(name), inspect(app).includes(name)]).toEqual([false, false]);
  app[name] = () => 'its own';
  expect(app[name]()).toBe('its own');
});

/** By these names packages tell frameworks apart: serverless-http, Bun, Deno and others. */
const TOLD_APART = ['callback', 'handler', 'main', '_onRequest', '_core', 'then'];

test.each([...TOLD_APART, ...HABITS.map(([name]) => name)])('an application of express() has no %s, as those of Express have none', (name) => {
  expect(name in express()).toBe(false);
});

test.each(TOLD_APART)('nor has any application %s', (name) => {
  expect(name in silent()).toBe(false);
});

test('nothing inside an application or router can be called by a name but what is documented', () => {
  const names = (made: object): string[] => {
    const found: string[] = [];
    for (let at: object | null = made; at !== null && at !== Function.prototype; at = Object.getPrototypeOf(at) as object | null) found.push(...Object.getOwnPropertyNames(at));
    return [...new Set(found)].sort();
  };
  const verbs = [...METHODS.map((method) => method.toLowerCase()), 'all'];
  const emitter = ['_events', '_eventsCount', '_maxListeners', ...Object.getOwnPropertyNames(Object.getPrototypeOf(process.stdin.constructor.prototype) as object)];
  const own = names(Router()).filter((name) => !verbs.includes(name));
  expect(own).toEqual(['caseSensitive', 'constructor', 'handle', 'length', 'listRoutes', 'mergeParams', 'name', 'param', 'params', 'route', 'stack', 'strict', 'use']);
  const listening = ['addListener', 'off', 'on', 'once', 'emit', 'prependListener', 'prependOnceListener', 'removeAllListeners', 'removeListener', 'setMaxListeners', 'getMaxListeners', 'listeners', 'rawListeners', 'listenerCount', 'eventNames'];
  const application = names(express()).filter((name) => ![...verbs, ...own, ...listening, ...emitter].includes(name));
  expect(application).toEqual(['cache', 'close', 'disable', 'disabled', 'enable', 'enabled', 'engine', 'engines', 'fallback', 'fetch', 'inject', 'listen', 'locals', 'log', 'mount', 'mountpath', 'openapi', 'parent', 'path', 'render', 'request', 'response', 'router', 'routes', 'server', 'set', 'settings', 'start']);
});

describe('what an application is asked to listen for', () => {
  test.each(['on', 'addListener', 'prependListener'])('errors, as in Koa, are warned of: %s', (method) => {
    const log = new LogRecorder();
    const app = createServer({ logging: { logger: log } }) as unknown as Foreign;
    const listener = (): void => undefined;
    app[method]!('error', listener);
    app[method]!('mount', listener);
    app['off']!('error', listener);
    expect(log.messages('warn')).toEqual(['app.on("error", …) hears nothing, other than in Koa: write error middleware below the routes, app.use((error, req, res, next) => …)']);
  });

  test('routes, as in Hono, are refused', () => {
    expect(() => (silent() as unknown as Foreign)['on']!('GET', '/users', () => undefined)).toThrow(/^app\.on\(\) takes an event and a function: write app\.get\(path, handler\)/);
  });
});

describe('a registration that is wrong says what', () => {
  const app = (): Foreign => silent() as unknown as Foreign;
  const handler = (): void => undefined;

  test.each<[string, (app: Foreign) => unknown, RegExp]>([
    ['an undefined path', (on) => on['get']!(undefined, handler), /^get\(undefined, …\): the path must be a string or a RegExp, got undefined; write a pattern such as "\/users\/:id"$/],
    ['an undefined handler', (on) => on['get']!('/users', undefined), /^get\("\/users", …\): argument handler must be a function, got undefined: is it exported by that name, and do no two modules wait for each other\?$/],
    ['an undefined handler among others', (on) => on['post']!('/users', handler, undefined), /^post\("\/users", …\): argument handler must be a function, got undefined/],
    ['both', (on) => on['put']!(undefined, undefined), /the path must be a string or a RegExp, got undefined/],
    ['an undefined handler of use', (on) => on['use']!('/users', undefined), /^use\("\/users", …\): argument handler must be a function, middleware or a router, got undefined/],
    ['an undefined path or handler of use', (on) => on['use']!(undefined, handler), /^use\(undefined, …\), where the path or the first handler is undefined/],
    ['an undefined path of route', (on) => on['route']!(undefined), /^route\(…\): the path must be a string or a RegExp, got undefined/],
    ['a route of Fastify', (on) => on['route']!({ method: 'GET', url: '/a', handler }), /write app\.get\(url, handler\) for Fastify's route\({ method, url, handler }\)/],
    ['a mount of Hono', (on) => on['route']!('/api', silent()), /^route\("\/api"\) takes a path alone; write app\.use\("\/api", router\)/],
    ['options of a route, as Fastify has them', (on) => on['get']!('/a', { schema: {} }, handler), /^get\("\/a", …\): unknown option "schema": options of a route are not Fastify's/],
    ['a module', (on) => on['get']!('/a', { default: handler, __esModule: true }), /got an object: it is a module, of which the default is meant/],
    ['a promise', (on) => on['use']!(Promise.resolve(handler)), /got an object: await it first/],
  ])('%s', (_, register, words) => {
    for (const made of [app(), Router() as unknown as Foreign]) {
      expect(() => register(made)).toThrow(TypeError);
      expect(() => register(made)).toThrow(words);
    }
  });
});

describe('a call that another framework knows', () => {
  test.each<[string, (first: Foreign, second: Foreign) => unknown, string | undefined]>([
    ['reply.code of Fastify', (_request, reply) => reply['code']!(404), 'a handler is given (req, res, next): write res.status(code)'],
    ['c.json of Hono', (c) => c['json']!({}), 'a handler is given (req, res, next): write res.json(data)'],
    ['c.text of Hono', (c) => c['text']!('x'), 'a handler is given (req, res, next): write res.send(text)'],
    ['ctx.throw of Koa', (ctx) => ctx['throw']!(404), 'a handler is given (req, res, next): write throw new HttpError(status, code, message)'],
    ['req.json of the web', (req) => req['json']!(), 'a handler is given (req, res, next): write req.body'],
    ['req.param of Express 4', (req) => req['param']!('id'), 'a handler is given (req, res, next): write req.params'],
    ['any other', (req) => req['frobnicate']!(), undefined],
    ['one of Object.prototype\'s', (req) => (req as unknown as { x: Foreign }).x['toString']!(), undefined],
  ])('%s is logged with what to write here', async (_, handler, hint) => {
    const log = new LogRecorder();
    // By name, so that the message is what a program would see.
    const port = await running.app((app) => app.get('/', (req, res) => handler(named(req), named(res))), { logging: { logger: log } });
    expect((await ask(port, '/')).status).toBe(500);
    expect(log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields['hint'])).toEqual([hint]);
  });

  const named = (made: unknown): Foreign => made as Foreign;
});
