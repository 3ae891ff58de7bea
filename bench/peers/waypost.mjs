/** Peer: waypost, of this repository's dist/ or of the checkout that WAYPOST_ROOT names. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, resolve } from 'node:path';
import { compileFunction } from 'node:vm';
import { BODY_LIMIT, certificate, events, FILE_NAME, fileDirectory, GREETING, LARGE_BODY_LIMIT, main, manyPaths, MOST_LEVELS, mountAt, nestRoutes, PAGE, pathBelow, REQUEST_ID, ROUTES, rows, SECRET, summarize, TOKEN, USER } from '../work.mjs';

const root = process.env.WAYPOST_ROOT ?? resolve(import.meta.dirname, '../..');
const require = createRequire(import.meta.url);
const { WAYPOST_WITHOUT } = process.env;
const { createServer, Router } = WAYPOST_WITHOUT === undefined ? require(resolve(root, 'dist/index.js')) : loadWithout(WAYPOST_WITHOUT);

/** Waypost without what one fact of Node's is for. */
function loadWithout(name) {
  const file = resolve(root, 'dist/index.js');
  const HOLDS = 'function holds(_name, trial) {';
  const code = readFileSync(file, 'utf8');
  if (!code.includes(HOLDS)) throw new Error(`${file} has no ${HOLDS}; look at HOLDS in bench/peers/waypost.mjs`);
  const module = { exports: {} };
  const load = compileFunction(code.replace(HOLDS, `${HOLDS} if (_name === ${JSON.stringify(name)}) return false;`), ['exports', 'require', 'module', '__filename', '__dirname'], { filename: file });
  load(module.exports, createRequire(file), module, file, dirname(file));
  return module.exports;
}

function make(options) {
  return createServer({ logging: { level: 'silent' }, ...options });
}

function listen(app, ready) {
  app.start(0, '127.0.0.1').then((server) => ready(server.address().port));
}

function greet(req, res) {
  res.json(GREETING);
}

function addRoutes(app, routed, routes = ROUTES) {
  for (const [method, path, isAsked] of routes) app[method.toLowerCase()](path, isAsked ? routed : greet);
}

function takeOrders(app) {
  app.post('/orders', (req, res) => res.json(summarize(req.body)));
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
    const app = make({ body: { limit: BODY_LIMIT } });
    takeOrders(app);
    listen(app, ready);
  },
  async validated(ready) {
    const { ORDER } = await import('../schema.mjs');
    const app = make({ body: { limit: BODY_LIMIT } });
    app.post('/orders', { body: ORDER }, (req, res) => res.json(summarize(req.body)));
    listen(app, ready);
  },
  signed(ready) {
    const app = make({ body: { limit: BODY_LIMIT }, security: { requestSignature: { secret: SECRET } } });
    takeOrders(app);
    listen(app, ready);
  },
  bigint(ready) {
    const app = make();
    const data = rows(10_000, true);
    app.get('/', (req, res) => res.xJson(data));
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
    const [api, users, products] = [Router(), Router(), Router()];
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
  https(ready) {
    const app = make({ server: { https: certificate() } });
    app.get('/', greet);
    listen(app, ready);
  },
  tagged(ready) {
    const app = make({ etag: true });
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
      const router = Router();
      inner.use(mountAt(level), router);
      inner = router;
    }
    inner.get(pathBelow(levels), (req, res) => res.json(req.params));
    listen(app, ready);
  },
  body(ready) {
    const app = make({ body: { limit: LARGE_BODY_LIMIT } });
    app.post('/', (req, res) => res.json({ length: req.body?.text.length ?? 0 }));
    listen(app, ready);
  },
  events(ready) {
    const app = make();
    app.get('/', (req, res) => res.events(events()));
    listen(app, ready);
  },
  /** All kinds of work that memory.ts asks for, each below its name. */
  mixed(ready) {
    const app = make({
      body: { limit: BODY_LIMIT },
      security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/signed/orders'] } } },
    });
    const [directory, withBigInt, large, api] = [fileDirectory(), rows(10_000, true), rows(1_000_000, false), Router()];
    app.get('/static', greet);
    api.use((req, res, next) => {
      res.setHeader('X-Request-Id', REQUEST_ID);
      res.setHeader('X-Content-Type-Options', 'nosniff');
      if (req.headers.authorization !== TOKEN) return res.status(401).json({ error: 'Unauthorized' });
      req.user = USER;
      next();
    });
    addRoutes(api, (req, res) => res.json({ ...req.params, fields: req.query.fields, limit: Number(req.query.limit), by: req.user.name }));
    app.use('/routed', api);
    for (const kind of ['post', 'signed']) app.post(`/${kind}/orders`, (req, res) => res.json(summarize(req.body)));
    app.get('/bigint', (req, res) => res.xJson(withBigInt));
    app.get('/large', (req, res) => res.json(large));
    app.get(`/file/${FILE_NAME}`, (req, res) => res.sendFile(FILE_NAME, { root: directory, etag: false }));
    app.get('/events', (req, res) => res.events(events()));
    listen(app, ready);
  },
});
