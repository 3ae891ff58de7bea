/** Peer: Fastify 5, with response schemas as its documentation advises, where they make it faster. */
import fastifyStatic from '@fastify/static';
import Fastify from 'fastify';
import { BODY_LIMIT, certificate, FILE_NAME, fileDirectory, GREETING, isSigned, LARGE_BODY_LIMIT, main, manyPaths, MOST_LEVELS, mountAt, notFound, PAGE, pathBelow, REQUEST_ID, ROUTES, routesIn, rows, summarize, teachBigInt, TOKEN, UNSIGNED, USER } from '../work.mjs';

function listen(app, ready) {
  app.listen({ port: 0, host: '127.0.0.1' }).then(() => ready(app.server.address().port));
}

const text = { type: 'string' };
const integer = { type: 'integer' };

function answers(properties) {
  return { schema: { response: { 200: { type: 'object', properties } } } };
}

const GREETED = answers({
  hello: text,
  framework: text,
  numbers: { type: 'array', items: integer },
  nested: { type: 'object', properties: { ok: { type: 'boolean' } } },
});
const SUMMARIZED = answers({ id: text, items: integer, total: integer });
const GREET = { ...GREETED, handler: (request, reply) => reply.send(GREETING) };

function addRoutes(app, routed, routes = ROUTES) {
  for (const [method, url, isAsked] of routes) app.route({ method, url, ...(isAsked ? routed : GREET) });
}

function takeOrders(app) {
  app.post('/orders', SUMMARIZED, (request, reply) => reply.send(summarize(request.body)));
}

main({
  static(ready) {
    const app = Fastify();
    app.get('/', GREETED, (request, reply) => reply.send(GREETING));
    listen(app, ready);
  },
  routed(ready) {
    const app = Fastify();
    app.decorateRequest('user', null);
    app.addHook('onRequest', (request, reply, done) => {
      reply.header('X-Request-Id', REQUEST_ID);
      done();
    });
    app.addHook('onRequest', (request, reply, done) => {
      reply.header('X-Content-Type-Options', 'nosniff');
      done();
    });
    app.addHook('onRequest', (request, reply, done) => {
      if (request.headers.authorization !== TOKEN) return reply.code(401).send({ error: 'Unauthorized' });
      request.user = USER;
      done();
    });
    addRoutes(app, {
      ...answers({ user: text, order: text, fields: text, limit: integer, by: text }),
      handler(request, reply) {
        const { user, order } = request.params;
        const { fields, limit } = request.query;
        reply.send({ user, order, fields, limit: Number(limit), by: request.user.name });
      },
    });
    listen(app, ready);
  },
  post(ready) {
    const app = Fastify({ bodyLimit: BODY_LIMIT });
    takeOrders(app);
    listen(app, ready);
  },
  async validated(ready) {
    const { ORDER } = await import('../schema.mjs');
    const { validatorCompiler } = await import('fastify-type-provider-zod');
    const app = Fastify({ bodyLimit: BODY_LIMIT });
    app.setValidatorCompiler(validatorCompiler);
    app.post('/orders', { schema: { body: ORDER } }, (request, reply) => reply.send(summarize(request.body)));
    listen(app, ready);
  },
  signed(ready) {
    const app = Fastify({ bodyLimit: BODY_LIMIT });
    const parse = app.getDefaultJsonParser('error', 'error');
    app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
      if (isSigned(request.method, request.url, bytes, request.headers)) parse(request, bytes.toString(), done);
      else done(Object.assign(new Error('unsigned'), { statusCode: 401 }));
    });
    app.setErrorHandler((error, request, reply) => {
      if (error.statusCode === 401) reply.code(401).send(UNSIGNED);
      else reply.send(error);
    });
    takeOrders(app);
    listen(app, ready);
  },
  bigint(ready) {
    const app = Fastify();
    teachBigInt();
    const data = rows(10_000, true);
    // Without a schema: with one, in which the big integers are text, it takes a little longer.
    app.get('/', (request, reply) => reply.send(data));
    listen(app, ready);
  },
  large(ready) {
    const app = Fastify();
    const data = rows(1_000_000, false);
    // Without a schema: with one a long array takes longer than JSON.stringify.
    app.get('/', (request, reply) => reply.send(data));
    listen(app, ready);
  },
  notfound(ready) {
    const app = Fastify();
    addRoutes(app, GREET);
    app.setNotFoundHandler((request, reply) => reply.code(404).send(notFound(request.method, request.url)));
    listen(app, ready);
  },
  file(ready) {
    const app = Fastify();
    app.register(fastifyStatic, { root: fileDirectory(), serve: false, etag: false });
    app.get(`/${FILE_NAME}`, (request, reply) => reply.sendFile(FILE_NAME));
    listen(app, ready);
  },
  routes(ready, count = 1000) {
    const app = Fastify();
    for (const path of manyPaths(count)) app.get(path, answers({ id: text }), (request, reply) => reply.send(request.params));
    listen(app, ready);
  },
  nested(ready) {
    const app = Fastify();
    const answer = { ...answers({ user: text, order: text }), handler: (request, reply) => reply.send(request.params) };
    const group = (mount, more = () => undefined) => (scope, options, done) => {
      addRoutes(scope, answer, routesIn(mount));
      more(scope);
      done();
    };
    app.register(group('/api', (api) => {
      api.register(group('/api/users'), { prefix: '/users' });
      api.register(group('/api/products'), { prefix: '/products' });
    }), { prefix: '/api' });
    addRoutes(app, answer, routesIn(''));
    listen(app, ready);
  },
  middleware(ready, count = 20) {
    const app = Fastify();
    app.decorateRequest('count', 0);
    for (let i = 0; i < count; i++) {
      app.addHook('onRequest', (request, reply, done) => {
        request.count++;
        done();
      });
    }
    app.get('/', answers({ count: integer }), (request, reply) => reply.send({ count: request.count }));
    listen(app, ready);
  },
  https(ready) {
    const app = Fastify({ https: certificate() });
    app.get('/', GREET);
    listen(app, ready);
  },
  async tagged(ready) {
    const { default: etag } = await import('@fastify/etag');
    const app = Fastify();
    await app.register(etag);
    app.get('/', (request, reply) => reply.type('text/html; charset=utf-8').send(PAGE));
    listen(app, ready);
  },
  async secured(ready) {
    const [{ default: helmet }, { default: cors }] = [await import('@fastify/helmet'), await import('@fastify/cors')];
    const app = Fastify();
    await app.register(helmet);
    await app.register(cors);
    app.get('/', GREET);
    listen(app, ready);
  },
  routers(ready, levels = MOST_LEVELS) {
    const app = Fastify();
    const mount = (level) => (scope, options, done) => {
      if (level < levels) scope.register(mount(level + 1), { prefix: mountAt(level + 1) });
      else scope.get(pathBelow(levels), answers({ id: text }), (request, reply) => reply.send(request.params));
      done();
    };
    app.register(mount(0));
    listen(app, ready);
  },
  body(ready) {
    const app = Fastify({ bodyLimit: LARGE_BODY_LIMIT });
    app.post('/', answers({ length: integer }), (request, reply) => reply.send({ length: request.body?.text.length ?? 0 }));
    listen(app, ready);
  },
});
