/** Peer: h3 with its server for Node. */
import { fromNodeHandler, getQuery, getRouterParams, H3, handleCacheHeaders, handleCors, html, HTTPError, raw, readBody, readValidatedBody, serve, serveStatic } from 'h3';
import { BODY_LIMIT, certificate, FILE_NAME, fileDirectory, GREETING, isSigned, LARGE_BODY_LIMIT, main, manyPaths, MOST_LEVELS, mountAt, nestRoutes, notFound, PAGE, pathBelow, REQUEST_ID, ROUTES, rows, summarize, teachBigInt, TOKEN, UNSIGNED, USER } from '../work.mjs';

/**
 * `maxRequestBodySize` counts the bytes as they come. The middleware bodyLimit
 * looks at the body of the Request first, which the server otherwise need not make.
 */
async function listen(app, ready, options) {
  const server = await serve(app, { port: 0, hostname: '127.0.0.1', silent: true, ...options }).ready();
  ready(server.node.server.address().port);
}

function greet() {
  return GREETING;
}

function params(event) {
  return getRouterParams(event, { decode: true });
}

function addRoutes(app, routed, routes = ROUTES) {
  for (const [method, path, isAsked] of routes) app.on(method, path, isAsked ? routed : greet);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HTTPError({ status: 400, cause });
  }
}

main({
  static(ready) {
    const app = new H3();
    app.get('/', greet);
    return listen(app, ready);
  },
  routed(ready) {
    const app = new H3();
    app.use((event) => {
      event.res.headers.set('X-Request-Id', REQUEST_ID);
    });
    app.use((event) => {
      event.res.headers.set('X-Content-Type-Options', 'nosniff');
    });
    app.use((event) => {
      // What it throws is answered without the fields that are set above.
      if (event.req.headers.get('Authorization') !== TOKEN) {
        event.res.status = 401;
        return { error: 'Unauthorized' };
      }
      event.context.user = USER;
    });
    addRoutes(app, (event) => {
      const { user, order } = params(event);
      const { fields, limit } = getQuery(event);
      return { user, order, fields, limit: Number(limit), by: event.context.user.name };
    });
    return listen(app, ready);
  },
  post(ready) {
    const app = new H3();
    app.post('/orders', async (event) => summarize(await readBody(event)));
    return listen(app, ready, { maxRequestBodySize: BODY_LIMIT });
  },
  async validated(ready) {
    const { ORDER } = await import('../schema.mjs');
    const app = new H3();
    app.post('/orders', async (event) => summarize(await readValidatedBody(event, ORDER)));
    return listen(app, ready, { maxRequestBodySize: BODY_LIMIT });
  },
  signed(ready) {
    const app = new H3();
    app.post('/orders', async (event) => {
      const { req, url } = event;
      const text = await req.text();
      const headers = { 'svc-request-sig': req.headers.get('svc-request-sig') ?? undefined, 'x-timestamp': req.headers.get('x-timestamp') ?? undefined };
      if (!isSigned(req.method, url.pathname, text, headers)) {
        event.res.status = 401;
        return UNSIGNED;
      }
      return summarize(parse(text));
    });
    return listen(app, ready, { maxRequestBodySize: BODY_LIMIT });
  },
  bigint(ready) {
    const app = new H3();
    teachBigInt();
    const data = rows(10_000, true);
    app.get('/', () => data);
    return listen(app, ready);
  },
  large(ready) {
    const app = new H3();
    const data = rows(1_000_000, false);
    app.get('/', () => data);
    return listen(app, ready);
  },
  notfound(ready) {
    const app = new H3();
    addRoutes(app, greet);
    app.all('/**', (event) => {
      event.res.status = 404;
      return notFound(event.req.method, event.url.pathname);
    });
    return listen(app, ready);
  },
  async file(ready) {
    const [{ readFile, stat }, { join }] = [await import('node:fs/promises'), await import('node:path')];
    const root = fileDirectory();
    const app = new H3();
    app.use(`/${FILE_NAME}`, (event) => serveStatic(event, {
      getContents: (id) => readFile(join(root, id)),
      async getMeta(id) {
        const stats = await stat(join(root, id)).catch(() => undefined);
        return stats?.isFile() ? { size: stats.size, mtime: stats.mtimeMs } : undefined;
      },
    }));
    return listen(app, ready);
  },
  routes(ready, count = 1000) {
    const app = new H3();
    for (const path of manyPaths(count)) app.get(path, params);
    return listen(app, ready);
  },
  nested(ready) {
    const [app, api, users, products] = [new H3(), new H3(), new H3(), new H3()];
    nestRoutes([app, api, users, products], (router, routes) => addRoutes(router, params, routes), (around, path, router) => around.mount(path, router));
    return listen(app, ready);
  },
  middleware(ready, count = 20) {
    const app = new H3();
    for (let i = 0; i < count; i++) {
      app.use((event) => {
        event.context.count = (event.context.count ?? 0) + 1;
      });
    }
    app.get('/', (event) => ({ count: event.context.count ?? 0 }));
    return listen(app, ready);
  },
  https(ready) {
    const app = new H3();
    app.get('/', greet);
    // Text that begins otherwise is taken for a path.
    const pem = (text) => text.slice(text.indexOf('-----BEGIN '));
    const { key, cert } = certificate();
    return listen(app, ready, { tls: { key: pem(key), cert: pem(cert) } });
  },
  async tagged(ready) {
    const { default: etag } = await import('etag');
    const app = new H3();
    app.get('/', (event) => (handleCacheHeaders(event, { etag: etag(PAGE, { weak: true }) }) ? '' : html(raw(PAGE))));
    return listen(app, ready);
  },
  async secured(ready) {
    const { default: helmet } = await import('helmet');
    const app = new H3();
    app.use(fromNodeHandler(helmet()));
    app.use((event) => handleCors(event, {}) || undefined);
    app.get('/', greet);
    return listen(app, ready);
  },
  routers(ready, levels = MOST_LEVELS) {
    let app = new H3();
    app.get(pathBelow(levels), params);
    for (let level = levels; level > 0; level--) app = new H3().mount(mountAt(level), app);
    return listen(app, ready);
  },
  body(ready) {
    const app = new H3();
    app.post('/', async (event) => ({ length: (await readBody(event))?.text.length ?? 0 }));
    return listen(app, ready, { maxRequestBodySize: LARGE_BODY_LIMIT });
  },
});
