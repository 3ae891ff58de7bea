/** Peer: restana, with body-parser and serve-static. */
import bodyParser from 'body-parser';
import restana from 'restana';
import serveStatic from 'serve-static';
import { BODY_LIMIT, certificate, fileDirectory, GREETING, isSigned, LARGE_BODY_LIMIT, main, manyPaths, MOST_LEVELS, mountAt, nestRoutes, notFound, PAGE, pathBelow, REQUEST_ID, ROUTES, rows, summarize, teachBigInt, TOKEN, UNSIGNED, USER } from '../work.mjs';

function listen(app, ready) {
  app.start(0, '127.0.0.1').then((server) => ready(server.address().port));
}

function greet(req, res) {
  res.send(GREETING);
}

function addRoutes(app, routed, routes = ROUTES) {
  for (const [method, path, isAsked] of routes) app[method.toLowerCase()](path, isAsked ? routed : greet);
}

function errorHandler(error, req, res) {
  if (error.status === 401) res.send(UNSIGNED, 401);
  else res.send({ error: error.message }, error.status ?? 500);
}

function verify(req, res, bytes) {
  if (!isSigned(req.method, req.originalUrl ?? req.url, bytes, req.headers)) throw Object.assign(new Error('unsigned'), { status: 401 });
}

main({
  static(ready) {
    const app = restana();
    app.get('/', greet);
    listen(app, ready);
  },
  routed(ready) {
    const app = restana();
    app.use((req, res, next) => {
      res.setHeader('X-Request-Id', REQUEST_ID);
      return next();
    });
    app.use((req, res, next) => {
      res.setHeader('X-Content-Type-Options', 'nosniff');
      return next();
    });
    app.use((req, res, next) => {
      if (req.headers.authorization !== TOKEN) return res.send({ error: 'Unauthorized' }, 401);
      req.user = USER;
      return next();
    });
    addRoutes(app, (req, res) => {
      const { user, order } = req.params;
      const { fields, limit } = req.query;
      // restana leaves parameters encoded.
      res.send({ user: decodeURIComponent(user), order: decodeURIComponent(order), fields, limit: Number(limit), by: req.user.name });
    });
    listen(app, ready);
  },
  post(ready) {
    const app = restana({ errorHandler });
    app.use(bodyParser.json({ limit: BODY_LIMIT }));
    app.post('/orders', (req, res) => res.send(summarize(req.body)));
    listen(app, ready);
  },
  async validated(ready) {
    const { ORDER, refusalOf } = await import('../schema.mjs');
    const app = restana({ errorHandler });
    app.use(bodyParser.json({ limit: BODY_LIMIT }));
    app.post('/orders', (req, res) => {
      const { data, error } = ORDER.safeParse(req.body);
      if (error) res.send(refusalOf(error), 400);
      else res.send(summarize(data));
    });
    listen(app, ready);
  },
  signed(ready) {
    const app = restana({ errorHandler });
    app.use(bodyParser.json({ limit: BODY_LIMIT, verify }));
    app.post('/orders', (req, res) => res.send(summarize(req.body)));
    listen(app, ready);
  },
  bigint(ready) {
    const app = restana();
    teachBigInt();
    const data = rows(10_000, true);
    app.get('/', (req, res) => res.send(data));
    listen(app, ready);
  },
  large(ready) {
    const app = restana();
    const data = rows(1_000_000, false);
    app.get('/', (req, res) => res.send(data));
    listen(app, ready);
  },
  notfound(ready) {
    const app = restana({ defaultRoute: (req, res) => res.send(notFound(req.method, req.url), 404) });
    addRoutes(app, greet);
    listen(app, ready);
  },
  file(ready) {
    const app = restana();
    app.use(serveStatic(fileDirectory(), { etag: false }));
    listen(app, ready);
  },
  routes(ready, count = 1000) {
    const app = restana();
    for (const path of manyPaths(count)) app.get(path, (req, res) => res.send({ id: decodeURIComponent(req.params.id) }));
    listen(app, ready);
  },
  nested(ready) {
    const app = restana();
    const [api, users, products] = [app.newRouter(), app.newRouter(), app.newRouter()];
    const answer = (req, res) => res.send({ user: decodeURIComponent(req.params.user), order: decodeURIComponent(req.params.order) });
    nestRoutes([app, api, users, products], (router, routes) => addRoutes(router, answer, routes));
    listen(app, ready);
  },
  middleware(ready, count = 20) {
    const app = restana();
    for (let i = 0; i < count; i++) {
      app.use((req, res, next) => {
        req.count = (req.count ?? 0) + 1;
        return next();
      });
    }
    app.get('/', (req, res) => res.send({ count: req.count ?? 0 }));
    listen(app, ready);
  },
  async https(ready) {
    const { createServer } = await import('node:https');
    const app = restana({ server: createServer(certificate()) });
    app.get('/', greet);
    listen(app, ready);
  },
  async tagged(ready) {
    const [{ default: etag }, { default: fresh }] = [await import('etag'), await import('fresh')];
    const app = restana();
    app.get('/', (req, res) => {
      const tag = etag(PAGE, { weak: true });
      res.setHeader('ETag', tag);
      if (fresh(req.headers, { etag: tag })) {
        res.statusCode = 304;
        return res.end();
      }
      res.setHeader('Content-Type', 'text/html; charset=utf-8');
      res.send(PAGE);
    });
    listen(app, ready);
  },
  async secured(ready) {
    const [{ default: helmet }, { default: cors }] = [await import('helmet'), await import('cors')];
    const app = restana();
    app.use(helmet());
    app.use(cors());
    app.get('/', greet);
    listen(app, ready);
  },
  routers(ready, levels = MOST_LEVELS) {
    const app = restana();
    const routers = [app, ...Array.from({ length: levels }, () => app.newRouter())];
    routers[levels].get(pathBelow(levels), (req, res) => res.send({ id: decodeURIComponent(req.params.id) }));
    for (let level = levels; level > 0; level--) routers[level - 1].use(mountAt(level), routers[level]);
    listen(app, ready);
  },
  body(ready) {
    const app = restana({ errorHandler });
    app.use(bodyParser.json({ limit: LARGE_BODY_LIMIT }));
    app.post('/', (req, res) => res.send({ length: req.body?.text?.length ?? 0 }));
    listen(app, ready);
  },
});
