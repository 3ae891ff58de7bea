/** Peer: Koa with its router, body parser and file sender. */
import { bodyParser } from '@koa/bodyparser';
import Router from '@koa/router';
import { send } from '@koa/send';
import Koa from 'koa';
import { BODY_LIMIT, certificate, FILE_NAME, fileDirectory, GREETING, isSigned, LARGE_BODY_LIMIT, main, manyPaths, MOST_LEVELS, mountAt, nestRoutes, notFound, PAGE, pathBelow, REQUEST_ID, ROUTES, rows, summarize, teachBigInt, TOKEN, UNSIGNED, USER } from '../work.mjs';

function listen(app, router, ready) {
  app.use(router.routes()).use(router.allowedMethods());
  const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
}

function make() {
  const app = new Koa();
  // Koa logs every refused body otherwise.
  app.silent = true;
  return app;
}

function greet(ctx) {
  ctx.body = GREETING;
}

function addRoutes(router, routed, routes = ROUTES) {
  for (const [method, path, isAsked] of routes) router[method.toLowerCase()](path, isAsked ? routed : greet);
}

main({
  static(ready) {
    const router = new Router();
    router.get('/', greet);
    listen(make(), router, ready);
  },
  routed(ready) {
    const app = make();
    const router = new Router();
    app.use(async (ctx, next) => {
      ctx.set('X-Request-Id', REQUEST_ID);
      await next();
    });
    app.use(async (ctx, next) => {
      ctx.set('X-Content-Type-Options', 'nosniff');
      await next();
    });
    app.use(async (ctx, next) => {
      if (ctx.headers.authorization !== TOKEN) {
        ctx.status = 401;
        ctx.body = { error: 'Unauthorized' };
        return;
      }
      ctx.state.user = USER;
      await next();
    });
    addRoutes(router, (ctx) => {
      const { user, order } = ctx.params;
      const { fields, limit } = ctx.query;
      ctx.body = { user, order, fields, limit: Number(limit), by: ctx.state.user.name };
    });
    listen(app, router, ready);
  },
  post(ready) {
    const app = make();
    const router = new Router();
    app.use(bodyParser({ jsonLimit: BODY_LIMIT }));
    router.post('/orders', (ctx) => {
      ctx.body = summarize(ctx.request.body);
    });
    listen(app, router, ready);
  },
  async validated(ready) {
    const { ORDER, refusalOf } = await import('../schema.mjs');
    const app = make();
    const router = new Router();
    app.use(bodyParser({ jsonLimit: BODY_LIMIT }));
    router.post('/orders', (ctx) => {
      const { data, error } = ORDER.safeParse(ctx.request.body);
      if (error) ctx.status = 400;
      ctx.body = error ? refusalOf(error) : summarize(data);
    });
    listen(app, router, ready);
  },
  signed(ready) {
    const app = make();
    const router = new Router();
    app.use(bodyParser({ jsonLimit: BODY_LIMIT }));
    router.post('/orders', (ctx) => {
      if (!isSigned(ctx.method, ctx.originalUrl, ctx.request.rawBody, ctx.headers)) {
        ctx.status = 401;
        ctx.body = UNSIGNED;
        return;
      }
      ctx.body = summarize(ctx.request.body);
    });
    listen(app, router, ready);
  },
  bigint(ready) {
    const router = new Router();
    teachBigInt();
    const data = rows(10_000, true);
    router.get('/', (ctx) => {
      ctx.body = data;
    });
    listen(make(), router, ready);
  },
  large(ready) {
    const router = new Router();
    const data = rows(1_000_000, false);
    router.get('/', (ctx) => {
      ctx.body = data;
    });
    listen(make(), router, ready);
  },
  notfound(ready) {
    const app = make();
    const router = new Router();
    app.use(async (ctx, next) => {
      await next();
      if (ctx.status !== 404) return;
      ctx.status = 404;
      ctx.body = notFound(ctx.method, ctx.path);
    });
    addRoutes(router, greet);
    listen(app, router, ready);
  },
  file(ready) {
    const router = new Router();
    const directory = fileDirectory();
    router.get(`/${FILE_NAME}`, async (ctx) => {
      await send(ctx, FILE_NAME, { root: directory });
    });
    listen(make(), router, ready);
  },
  routes(ready, count = 1000) {
    const router = new Router();
    for (const path of manyPaths(count)) {
      router.get(path, (ctx) => {
        ctx.body = ctx.params;
      });
    }
    listen(make(), router, ready);
  },
  nested(ready) {
    const [root, api, users, products] = [new Router(), new Router(), new Router(), new Router()];
    const answer = (ctx) => {
      ctx.body = ctx.params;
    };
    nestRoutes([root, api, users, products], (router, routes) => addRoutes(router, answer, routes), (around, path, router) => around.use(path, router.routes()));
    listen(make(), root, ready);
  },
  middleware(ready, count = 20) {
    const app = make();
    const router = new Router();
    for (let i = 0; i < count; i++) {
      app.use(async (ctx, next) => {
        ctx.state.count = (ctx.state.count ?? 0) + 1;
        await next();
      });
    }
    router.get('/', (ctx) => {
      ctx.body = { count: ctx.state.count ?? 0 };
    });
    listen(app, router, ready);
  },
  async https(ready) {
    const { createServer } = await import('node:https');
    const app = make();
    const router = new Router();
    router.get('/', greet);
    app.use(router.routes()).use(router.allowedMethods());
    const server = createServer(certificate(), app.callback()).listen(0, '127.0.0.1', () => ready(server.address().port));
  },
  async tagged(ready) {
    const [{ default: conditional }, { default: etag }] = [await import('koa-conditional-get'), await import('koa-etag')];
    const app = make();
    const router = new Router();
    app.use(conditional());
    app.use(etag());
    router.get('/', (ctx) => {
      ctx.body = PAGE;
    });
    listen(app, router, ready);
  },
  async secured(ready) {
    const [{ default: helmet }, { default: cors }] = [await import('koa-helmet'), await import('@koa/cors')];
    const app = make();
    const router = new Router();
    app.use(helmet());
    app.use(cors());
    router.get('/', greet);
    listen(app, router, ready);
  },
  routers(ready, levels = MOST_LEVELS) {
    let router = new Router();
    router.get(pathBelow(levels), (ctx) => {
      ctx.body = ctx.params;
    });
    for (let level = levels; level > 0; level--) router = new Router().use(mountAt(level), router.routes());
    listen(make(), router, ready);
  },
  body(ready) {
    const app = make();
    const router = new Router();
    app.use(bodyParser({ jsonLimit: LARGE_BODY_LIMIT }));
    router.post('/', (ctx) => {
      ctx.body = { length: ctx.request.body?.text?.length ?? 0 };
    });
    listen(app, router, ready);
  },
});
