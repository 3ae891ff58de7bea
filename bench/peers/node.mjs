/** Peer: node:http alone, by the hand of someone who wants no framework but does not cut corners. */
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { parse as parseQuery } from 'node:querystring';
import { BODY_LIMIT, certificate, events, FILE_NAME, fileDirectory, GREETING, isSigned, LARGE_BODY_LIMIT, main, manyPaths, notFound, PAGE, pathBelow, REQUEST_ID, ROUTES, rows, summarize, teachBigInt, TOKEN, UNSIGNED, USER } from '../work.mjs';

const METHOD_NOT_ALLOWED = { error: 'Method Not Allowed', message: 'The path is known, the method is not' };

function sendText(res, status, text) {
  res.writeHead(status, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(text) });
  res.end(text);
}

function sendJson(res, status, value) {
  sendText(res, status, JSON.stringify(value));
}

function newNode() {
  return { texts: new Map(), parameter: undefined, routes: new Map() };
}

/** Routes in a tree of segments; static text goes before parameters. */
function addRoute(tree, method, path, handler) {
  let node = tree;
  const names = [];
  for (const segment of path.slice(1).split('/')) {
    if (segment.startsWith(':')) {
      names.push(segment.slice(1));
      node = node.parameter ??= newNode();
    } else {
      if (!node.texts.has(segment)) node.texts.set(segment, newNode());
      node = node.texts.get(segment);
    }
  }
  node.routes.set(method, { names, handler });
}

function findNode(node, segments, at, values) {
  if (at === segments.length) return node.routes.size > 0 ? node : undefined;
  const next = node.texts.get(segments[at]);
  const found = next === undefined ? undefined : findNode(next, segments, at + 1, values);
  if (found !== undefined || node.parameter === undefined || segments[at] === '') return found;
  values[values.length] = segments[at];
  const behind = findNode(node.parameter, segments, at + 1, values);
  if (behind === undefined) values.length--;
  return behind;
}

function decode(values) {
  for (let i = 0; i < values.length; i++) {
    if (values[i].includes('%')) values[i] = decodeURIComponent(values[i]);
  }
}

function route(tree, req, res) {
  const { url } = req;
  const mark = url.indexOf('?');
  req.path = mark === -1 ? url : url.slice(0, mark);
  const values = [];
  const node = findNode(tree, req.path.slice(1).split('/'), 0, values);
  if (node === undefined) return sendJson(res, 404, notFound(req.method, req.path));
  const found = node.routes.get(req.method);
  if (found === undefined) return sendJson(res, 405, METHOD_NOT_ALLOWED);
  try {
    decode(values);
  } catch {
    return sendJson(res, 400, { error: 'Bad Request', message: 'The path is malformed' });
  }
  req.params = {};
  for (let i = 0; i < values.length; i++) req.params[found.names[i]] = values[i];
  req.query = mark === -1 ? {} : parseQuery(url.slice(mark + 1));
  return found.handler(req, res);
}

function listen(tree, ready, middleware = [], server = createServer()) {
  server.on('request', (req, res) => {
    let at = 0;
    const next = () => {
      if (at < middleware.length) middleware[at++](req, res, next);
      else route(tree, req, res);
    };
    next();
  });
  server.listen(0, '127.0.0.1', () => ready(server.address().port));
}

function readBody(req, res, limit, done) {
  const refuse = () => {
    res.shouldKeepAlive = false;
    sendJson(res, 413, { error: 'Payload Too Large', message: 'The body is too large' });
  };
  if (Number(req.headers['content-length']) > limit) return refuse();
  const chunks = [];
  let length = 0;
  req.on('data', (chunk) => {
    length += chunk.length;
    if (length <= limit) chunks.push(chunk);
    else if (!res.headersSent) refuse();
  });
  req.on('end', () => {
    if (length <= limit) done(chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, length));
  });
}

function parseJson(req, res, bytes) {
  if (!req.headers['content-type']?.startsWith('application/json')) return undefined;
  try {
    return JSON.parse(bytes.toString());
  } catch {
    sendJson(res, 400, { error: 'Bad Request', message: 'The body is not valid JSON' });
    return undefined;
  }
}

function treeOf(method, path, handler) {
  const tree = newNode();
  addRoute(tree, method, path, handler);
  return tree;
}

function greet(req, res) {
  sendJson(res, 200, GREETING);
}

function treeOfRoutes(routed) {
  const tree = newNode();
  for (const [method, path, isAsked] of ROUTES) addRoute(tree, method, path, isAsked ? routed : greet);
  return tree;
}

function takeOrder(check) {
  return (req, res) => readBody(req, res, BODY_LIMIT, (bytes) => {
    if (!check(req, bytes)) return sendJson(res, 401, UNSIGNED);
    const order = parseJson(req, res, bytes);
    if (order !== undefined) sendJson(res, 200, summarize(order));
  });
}

main({
  static(ready) {
    listen(treeOf('GET', '/', greet), ready);
  },
  routed(ready) {
    const tree = treeOfRoutes((req, res) => {
      const { user, order } = req.params;
      const { fields, limit } = req.query;
      sendJson(res, 200, { user, order, fields, limit: Number(limit), by: req.user.name });
    });
    listen(tree, ready, [
      (req, res, next) => {
        res.setHeader('X-Request-Id', REQUEST_ID);
        next();
      },
      (req, res, next) => {
        res.setHeader('X-Content-Type-Options', 'nosniff');
        next();
      },
      (req, res, next) => {
        if (req.headers.authorization !== TOKEN) return sendJson(res, 401, { error: 'Unauthorized' });
        req.user = USER;
        next();
      },
    ]);
  },
  post(ready) {
    listen(treeOf('POST', '/orders', takeOrder(() => true)), ready);
  },
  async validated(ready) {
    const { ORDER, refusalOf } = await import('../schema.mjs');
    listen(treeOf('POST', '/orders', (req, res) => readBody(req, res, BODY_LIMIT, (bytes) => {
      const order = parseJson(req, res, bytes);
      if (order === undefined) return;
      const { data, error } = ORDER.safeParse(order);
      if (error) sendJson(res, 400, refusalOf(error));
      else sendJson(res, 200, summarize(data));
    })), ready);
  },
  signed(ready) {
    listen(treeOf('POST', '/orders', takeOrder((req, bytes) => isSigned(req.method, req.url, bytes, req.headers))), ready);
  },
  bigint(ready) {
    teachBigInt();
    const data = rows(10_000, true);
    listen(treeOf('GET', '/', (req, res) => sendJson(res, 200, data)), ready);
  },
  large(ready) {
    const data = rows(1_000_000, false);
    listen(treeOf('GET', '/', (req, res) => sendJson(res, 200, data)), ready);
  },
  notfound(ready) {
    listen(treeOfRoutes(greet), ready);
  },
  file(ready) {
    const path = join(fileDirectory(), FILE_NAME);
    listen(treeOf('GET', `/${FILE_NAME}`, async (req, res) => {
      const { mtime } = await stat(path);
      // Read at once: for 64 KB a stream takes half as long again.
      const bytes = await readFile(path);
      res.writeHead(200, { 'Content-Type': 'text/plain; charset=utf-8', 'Content-Length': bytes.length, 'Last-Modified': mtime.toUTCString() });
      res.end(bytes);
    }), ready);
  },
  routes(ready, count = 1000) {
    const tree = newNode();
    for (const path of manyPaths(count)) addRoute(tree, 'GET', path, (req, res) => sendJson(res, 200, req.params));
    listen(tree, ready);
  },
  nested(ready) {
    // Whoever groups routes by hand joins their paths when they are registered.
    listen(treeOfRoutes((req, res) => sendJson(res, 200, req.params)), ready);
  },
  middleware(ready, count = 20) {
    const middleware = [];
    for (let i = 0; i < count; i++) {
      middleware.push((req, res, next) => {
        req.count = (req.count ?? 0) + 1;
        next();
      });
    }
    listen(treeOf('GET', '/', (req, res) => sendJson(res, 200, { count: req.count ?? 0 })), ready, middleware);
  },
  async https(ready) {
    const https = await import('node:https');
    listen(treeOf('GET', '/', greet), ready, [], https.createServer(certificate()));
  },
  async tagged(ready) {
    const [{ default: etag }, { default: fresh }] = [await import('etag'), await import('fresh')];
    listen(treeOf('GET', '/', (req, res) => {
      const tag = etag(PAGE, { weak: true });
      if (fresh(req.headers, { etag: tag })) {
        res.writeHead(304, { ETag: tag });
        return res.end();
      }
      res.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': Buffer.byteLength(PAGE), ETag: tag });
      res.end(PAGE);
    }), ready);
  },
  async secured(ready) {
    const [{ default: helmet }, { default: cors }] = [await import('helmet'), await import('cors')];
    listen(treeOf('GET', '/', greet), ready, [helmet(), cors()]);
  },
  routers(ready) {
    // The paths are joined, as above.
    listen(treeOf('GET', pathBelow(0), (req, res) => sendJson(res, 200, req.params)), ready);
  },
  body(ready) {
    listen(treeOf('POST', '/', (req, res) => readBody(req, res, LARGE_BODY_LIMIT, (bytes) => {
      const body = parseJson(req, res, bytes);
      if (!res.headersSent) sendJson(res, 200, { length: body?.text.length ?? 0 });
    })), ready);
  },
  events(ready) {
    listen(treeOf('GET', '/', async (req, res) => {
      res.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
      for await (const { id, data } of events()) res.write(`id: ${id}\ndata: ${JSON.stringify(data)}\n\n`);
      res.end();
    }), ready);
  },
});
