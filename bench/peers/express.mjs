/** Peer: Express 5. Its ETag and X-Powered-By are turned off, since the others send none. */
import express from 'express';
import { BODY_LIMIT, certificate, FILE_NAME, fileDirectory, GREETING, isSigned, LARGE_BODY_LIMIT, main, manyPaths, MOST_LEVELS, mountAt, nestRoutes, notFound, PAGE, pathBelow, REQUEST_ID, ROUTES, rows, summarize, teachBigInt, TOKEN, UNSIGNED, USER } from '../work.mjs';

function make() {
  return express().disable('etag').disable('x-powered-by');
}

function listen(app, ready) {
  const server = app.listen(0, '127.0.0.1', () => ready(server.address().port));
}

function greet(req, res) {
  res.json(GREETING);
}

function addRoutes(app, routed, routes = ROUTES) {
  for (const [method, path, isAsked] of routes) app[method.toLowerCase()](path, isAsked ? routed : greet);
}

/** The bytes of a body are shown by express.json's `verify`. */
function verify(req, res, bytes) {
  if (!isSigned(req.method, req.originalUrl, bytes, req.headers)) throw Object.assign(new Error('unsigned'), { status: 401 });
}

main({
  static(ready) {
    const app = make();
    app.get('/', greet);
    listen(app, ready);
  },
  routed(ready) {
    const app = make();
    app.use((req, res, next) => {
      res.setHeader('X-Request-Id', REQUEST_ID);
      next();
    });
    app.use((req, res, next) => {
      res.setHeader('X-Content-Type-Options', 'nosniff');
      next();
    });
    app.use((req, res, next) => {
      if (req.headers.authorization !== TOKEN) return res.status(401).json({ error: 'Unauthorized' });
      req.user = USER;
      next();
    });
    addRoutes(app, (req, res) => {
      const { user, order } = req.params;
      const { fields, limit } = req.query;
      res.json({ user, order, fields, limit: Number(limit), by: req.user.name });
    });
    listen(app, ready);
  },
  post(ready) {
    const app = make();
    app.use(express.json({ limit: BODY_LIMIT }));
    app.post('/orders', (req, res) => res.json(summarize(req.body)));
    listen(app, ready);
  },
  async validated(ready) {
    const { ORDER, refusalOf } = await import('../schema.mjs');
    const app = make();
    app.use(express.json({ limit: BODY_LIMIT }));
    app.post('/orders', (req, res) => {
      const { data, error } = ORDER.safeParse(req.body);
      if (error) res.status(400).json(refusalOf(error));
      else res.json(summarize(data));
    });
    listen(app, ready);
  },
  signed(ready) {
    const app = make();
    app.use(express.json({ limit: BODY_LIMIT, verify }));
    app.post('/orders', (req, res) => res.json(summarize(req.body)));
    app.use((error, req, res, next) => {
      if (error.status === 401) res.status(401).json(UNSIGNED);
      else next(error);
    });
    listen(app, ready);
  },
  bigint(ready) {
    const app = make();
    teachBigInt();
    const data = rows(10_000, true);
    app.get('/', (req, res) => res.json(data));
    listen(app, ready);
  },
  large(ready) {
    const app = make();
    const data = rows(1_000_000, false);
    app.get('/', (req, res) => res.json(data));
    listen(app, ready);
  },
  notfound(ready) {
    const app = make();
    addRoutes(app, greet);
    app.use((req, res) => res.status(404).json(notFound(req.method, req.path)));
    listen(app, ready);
  },
  file(ready) {
    const app = make();
    const directory = fileDirectory();
    app.get(`/${FILE_NAME}`, (req, res) => res.sendFile(FILE_NAME, { root: directory, etag: false }));
    listen(app, ready);
  },
  routes(ready, count = 1000) {
    const app = make();
    for (const path of manyPaths(count)) app.get(path, (req, res) => res.json(req.params));
    listen(app, ready);
  },
  nested(ready) {
    const app = make();
    const [api, users, products] = [express.Router(), express.Router(), express.Router()];
    const answer = (req, res) => res.json(req.params);
    nestRoutes([app, api, users, products], (router, routes) => addRoutes(router, answer, routes));
    listen(app, ready);
  },
  middleware(ready, count = 20) {
    const app = make();
    for (let i = 0; i < count; i++) {
      app.use((req, res, next) => {
        req.count = (req.count ?? 0) + 1;
        next();
      });
    }
    app.get('/', (req, res) => res.json({ count: req.count ?? 0 }));
    listen(app, ready);
  },
  async https(ready) {
    const { createServer } = await import('node:https');
    const app = make();
    app.get('/', greet);
    const server = createServer(certificate(), app).listen(0, '127.0.0.1', () => ready(server.address().port));
  },
  tagged(ready) {
    const app = make().set('etag', 'weak');
    app.get('/', (req, res) => res.send(PAGE));
    listen(app, ready);
  },
  async secured(ready) {
    const [{ default: helmet }, { default: cors }] = [await import('helmet'), await import('cors')];
    const app = make();
    app.use(helmet());
    app.use(cors());
    app.get('/', greet);
    listen(app, ready);
  },
  routers(ready, levels = MOST_LEVELS) {
    const app = make();
    let inner = app;
    for (let level = 1; level <= levels; level++) {
      const router = express.Router();
      inner.use(mountAt(level), router);
      inner = router;
    }
    inner.get(pathBelow(levels), (req, res) => res.json(req.params));
    listen(app, ready);
  },
  body(ready) {
    const app = make();
    app.use(express.json({ limit: LARGE_BODY_LIMIT }));
    app.post('/', (req, res) => res.json({ length: req.body?.text.length ?? 0 }));
    listen(app, ready);
  },
});
