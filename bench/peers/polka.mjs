/** Peer: Polka, with body-parser and sirv, which its documentation names. */
import bodyParser from 'body-parser';
import polka from 'polka';
import sirv from 'sirv';
import { BODY_LIMIT, certificate, fileDirectory, GREETING, isSigned, LARGE_BODY_LIMIT, main, manyPaths, MOST_LEVELS, mountAt, nestRoutes, notFound, PAGE, pathBelow, REQUEST_ID, ROUTES, rows, summarize, teachBigInt, TOKEN, UNSIGNED, USER } from '../work.mjs';

function listen(app, ready) {
  app.listen(0, '127.0.0.1', () => ready(app.server.address().port));
}

function sendText(res, text) {
  res.setHeader('Content-Type', 'application/json; charset=utf-8');
  res.end(text);
}

function sendJson(res, value) {
  sendText(res, JSON.stringify(value));
}

function greet(req, res) {
  sendJson(res, GREETING);
}

function addRoutes(app, routed, routes = ROUTES) {
  for (const [method, path, isAsked] of routes) app[method.toLowerCase()](path, isAsked ? routed : greet);
}

/** body-parser's errors hold names in `code`, where Polka looks for a status. */
function onError(error, req, res) {
  res.statusCode = error.status ?? 500;
  sendJson(res, res.statusCode === 401 ? UNSIGNED : { error: error.message });
}

function verify(req, res, bytes) {
  if (!isSigned(req.method, req.originalUrl, bytes, req.headers)) throw Object.assign(new Error('unsigned'), { status: 401 });
}

main({
  static(ready) {
    const app = polka();
    app.get('/', greet);
    listen(app, ready);
  },
  routed(ready) {
    const app = polka();
    app.use((req, res, next) => {
      res.setHeader('X-Request-Id', REQUEST_ID);
      next();
    });
    app.use((req, res, next) => {
      res.setHeader('X-Content-Type-Options', 'nosniff');
      next();
    });
    app.use((req, res, next) => {
      if (req.headers.authorization !== TOKEN) {
        res.statusCode = 401;
        return sendJson(res, { error: 'Unauthorized' });
      }
      req.user = USER;
      next();
    });
    addRoutes(app, (req, res) => {
      const { user, order } = req.params;
      const { fields, limit } = req.query;
      // Polka leaves parameters encoded.
      sendJson(res, { user: decodeURIComponent(user), order: decodeURIComponent(order), fields, limit: Number(limit), by: req.user.name });
    });
    listen(app, ready);
  },
  post(ready) {
    const app = polka({ onError });
    app.use(bodyParser.json({ limit: BODY_LIMIT }));
    app.post('/orders', (req, res) => sendJson(res, summarize(req.body)));
    listen(app, ready);
  },
  async validated(ready) {
    const { ORDER, refusalOf } = await import('../schema.mjs');
    const app = polka({ onError });
    app.use(bodyParser.json({ limit: BODY_LIMIT }));
    app.post('/orders', (req, res) => {
      const { data, error } = ORDER.safeParse(req.body);
      if (error) res.statusCode = 400;
      sendJson(res, error ? refusalOf(error) : summarize(data));
    });
    listen(app, ready);
  },
  signed(ready) {
    const app = polka({ onError });
    app.use(bodyParser.json({ limit: BODY_LIMIT, verify }));
    app.post('/orders', (req, res) => sendJson(res, summarize(req.body)));
    listen(app, ready);
  },
  bigint(ready) {
    const app = polka();
    teachBigInt();
    const data = rows(10_000, true);
    app.get('/', (req, res) => sendJson(res, data));
    listen(app, ready);
  },
  large(ready) {
    const app = polka();
    const data = rows(1_000_000, false);
    app.get('/', (req, res) => sendJson(res, data));
    listen(app, ready);
  },
  notfound(ready) {
    const app = polka({
      onNoMatch(req, res) {
        res.statusCode = 404;
        sendJson(res, notFound(req.method, req.path));
      },
    });
    addRoutes(app, greet);
    listen(app, ready);
  },
  file(ready) {
    const app = polka();
    app.use(sirv(fileDirectory()));
    listen(app, ready);
  },
  routes(ready, count = 1000) {
    const app = polka();
    for (const path of manyPaths(count)) app.get(path, (req, res) => sendJson(res, { id: decodeURIComponent(req.params.id) }));
    listen(app, ready);
  },
  nested(ready) {
    const [app, api, users, products] = [polka(), polka(), polka(), polka()];
    const answer = (req, res) => sendJson(res, { user: decodeURIComponent(req.params.user), order: decodeURIComponent(req.params.order) });
    nestRoutes([app, api, users, products], (router, routes) => addRoutes(router, answer, routes));
    listen(app, ready);
  },
  middleware(ready, count = 20) {
    const app = polka();
    for (let i = 0; i < count; i++) {
      app.use((req, res, next) => {
        req.count = (req.count ?? 0) + 1;
        next();
      });
    }
    app.get('/', (req, res) => sendJson(res, { count: req.count ?? 0 }));
    listen(app, ready);
  },
  async https(ready) {
    const { createServer } = await import('node:https');
    const app = polka({ server: createServer(certificate()) });
    app.get('/', greet);
    listen(app, ready);
  },
  async tagged(ready) {
    const [{ default: etag }, { default: fresh }] = [await import('etag'), await import('fresh')];
    const app = polka();
    app.get('/', (req, res) => {
      const tag = etag(PAGE, { weak: true });
      res.setHeader('ETag', tag);
      if (fresh(req.headers, { etag: tag })) {
        res.statusCode = 304;
        return res.end();
      }
      res.setHeader('Content-Type', 'text/html; charset=utf-8');
      res.end(PAGE);
    });
    listen(app, ready);
  },
  async secured(ready) {
    const [{ default: helmet }, { default: cors }] = [await import('helmet'), await import('cors')];
    const app = polka();
    app.use(helmet(), cors());
    app.get('/', greet);
    listen(app, ready);
  },
  routers(ready, levels = MOST_LEVELS) {
    let app = polka();
    app.get(pathBelow(levels), (req, res) => sendJson(res, { id: decodeURIComponent(req.params.id) }));
    for (let level = levels; level > 0; level--) app = polka().use(mountAt(level), app);
    listen(app, ready);
  },
  body(ready) {
    const app = polka({ onError });
    app.use(bodyParser.json({ limit: LARGE_BODY_LIMIT }));
    app.post('/', (req, res) => sendJson(res, { length: req.body?.text?.length ?? 0 }));
    listen(app, ready);
  },
});
