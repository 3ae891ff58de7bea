/** Peer: Hono with its server for Node. */
import { serve } from '@hono/node-server';
import { serveStatic } from '@hono/node-server/serve-static';
import { Hono } from 'hono';
import { bodyLimit } from 'hono/body-limit';
import { HTTPException } from 'hono/http-exception';
import { BODY_LIMIT, certificate, CONTENT_SECURITY_POLICY, FILE_NAME, fileDirectory, GREETING, isSigned, LARGE_BODY_LIMIT, main, manyPaths, MOST_LEVELS, mountAt, nestRoutes, notFound, PAGE, pathBelow, REQUEST_ID, ROUTES, rows, summarize, teachBigInt, TOKEN, TRANSPORT_SECURITY, UNSIGNED, USER } from '../work.mjs';

function listen(app, ready) {
  serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ({ port }) => ready(port));
}

function greet(c) {
  return c.json(GREETING);
}

function addRoutes(app, routed, routes = ROUTES) {
  for (const [method, path, isAsked] of routes) app.on(method, path, isAsked ? routed : greet);
}

/** c.req.json throws what JSON.parse throws, which Hono would answer by 500. */
function refuseMalformed(app) {
  app.onError((error, c) => {
    if (error instanceof HTTPException) return error.getResponse();
    return error instanceof SyntaxError ? c.json({ error: 'Bad Request' }, 400) : c.json({ error: 'Internal Server Error' }, 500);
  });
}

/**
 * As bodyLimit by itself: refuses what is announced as too long, and counts
 * what is not announced. bodyLimit looks at the body of the whole Request
 * first, which the server otherwise need not make: a POST takes four times as
 * long with it.
 */
function limitBody(maxSize) {
  const counted = bodyLimit({ maxSize });
  return (c, next) => {
    const length = c.req.header('Content-Length');
    if (length === undefined) return counted(c, next);
    return Number(length) > maxSize ? c.text('Payload Too Large', 413) : next();
  };
}

main({
  static(ready) {
    const app = new Hono();
    app.get('/', greet);
    listen(app, ready);
  },
  routed(ready) {
    const app = new Hono();
    app.use(async (c, next) => {
      c.header('X-Request-Id', REQUEST_ID);
      await next();
    });
    app.use(async (c, next) => {
      c.header('X-Content-Type-Options', 'nosniff');
      await next();
    });
    app.use(async (c, next) => {
      if (c.req.header('Authorization') !== TOKEN) return c.json({ error: 'Unauthorized' }, 401);
      c.set('user', USER);
      await next();
    });
    addRoutes(app, (c) => {
      const { user, order } = c.req.param();
      const { fields, limit } = c.req.query();
      return c.json({ user, order, fields, limit: Number(limit), by: c.get('user').name });
    });
    listen(app, ready);
  },
  post(ready) {
    const app = new Hono();
    refuseMalformed(app);
    app.post('/orders', limitBody(BODY_LIMIT), async (c) => c.json(summarize(await c.req.json())));
    listen(app, ready);
  },
  async validated(ready) {
    const { ORDER } = await import('../schema.mjs');
    const { sValidator } = await import('@hono/standard-validator');
    const app = new Hono();
    refuseMalformed(app);
    app.post('/orders', limitBody(BODY_LIMIT), sValidator('json', ORDER), (c) => c.json(summarize(c.req.valid('json'))));
    listen(app, ready);
  },
  signed(ready) {
    const app = new Hono();
    refuseMalformed(app);
    app.post('/orders', limitBody(BODY_LIMIT), async (c) => {
      const text = await c.req.text();
      const { method, path } = c.req;
      const headers = { 'svc-request-sig': c.req.header('svc-request-sig'), 'x-timestamp': c.req.header('x-timestamp') };
      if (!isSigned(method, path, text, headers)) return c.json(UNSIGNED, 401);
      return c.json(summarize(JSON.parse(text)));
    });
    listen(app, ready);
  },
  bigint(ready) {
    const app = new Hono();
    teachBigInt();
    const data = rows(10_000, true);
    app.get('/', (c) => c.json(data));
    listen(app, ready);
  },
  large(ready) {
    const app = new Hono();
    const data = rows(1_000_000, false);
    app.get('/', (c) => c.json(data));
    listen(app, ready);
  },
  notfound(ready) {
    const app = new Hono();
    addRoutes(app, greet);
    app.notFound((c) => c.json(notFound(c.req.method, c.req.path), 404));
    listen(app, ready);
  },
  file(ready) {
    const app = new Hono();
    app.use(`/${FILE_NAME}`, serveStatic({ root: fileDirectory() }));
    listen(app, ready);
  },
  routes(ready, count = 1000) {
    const app = new Hono();
    for (const path of manyPaths(count)) app.get(path, (c) => c.json(c.req.param()));
    listen(app, ready);
  },
  nested(ready) {
    const [app, api, users, products] = [new Hono(), new Hono(), new Hono(), new Hono()];
    const answer = (c) => c.json(c.req.param());
    nestRoutes([app, api, users, products], (router, routes) => addRoutes(router, answer, routes), (around, path, router) => around.route(path, router));
    listen(app, ready);
  },
  middleware(ready, count = 20) {
    const app = new Hono();
    for (let i = 0; i < count; i++) {
      app.use(async (c, next) => {
        c.set('count', (c.get('count') ?? 0) + 1);
        await next();
      });
    }
    app.get('/', (c) => c.json({ count: c.get('count') ?? 0 }));
    listen(app, ready);
  },
  async https(ready) {
    const { createServer } = await import('node:https');
    const app = new Hono();
    app.get('/', greet);
    serve({ fetch: app.fetch, createServer, serverOptions: certificate(), port: 0, hostname: '127.0.0.1' }, ({ port }) => ready(port));
  },
  async tagged(ready) {
    const { etag } = await import('hono/etag');
    const app = new Hono();
    app.use(etag());
    app.get('/', (c) => c.html(PAGE));
    listen(app, ready);
  },
  async secured(ready) {
    const [{ secureHeaders }, { cors }] = [await import('hono/secure-headers'), await import('hono/cors')];
    const app = new Hono();
    // By itself it sends no Content-Security-Policy, and asks for HTTPS for half as long.
    app.use(secureHeaders({ contentSecurityPolicy: CONTENT_SECURITY_POLICY, strictTransportSecurity: TRANSPORT_SECURITY }));
    app.use(cors());
    app.get('/', greet);
    listen(app, ready);
  },
  routers(ready, levels = MOST_LEVELS) {
    let app = new Hono();
    app.get(pathBelow(levels), (c) => c.json(c.req.param()));
    for (let level = levels; level > 0; level--) app = new Hono().route(mountAt(level), app);
    listen(app, ready);
  },
  body(ready) {
    const app = new Hono();
    app.post('/', limitBody(LARGE_BODY_LIMIT), async (c) => {
      const body = c.req.header('Content-Type') === undefined ? undefined : await c.req.json();
      return c.json({ length: body?.text.length ?? 0 });
    });
    listen(app, ready);
  },
});
