/**
 * Requests a second over HTTP/2 without TLS, by h2load of nghttp2: waypost, node:http2 by hand, Fastify and Hono, in turns, each in a
 * process of its own, with 1 and with 100 streams on each of ten sessions. `npm run bench:http2`, options: rounds, seconds, cases, streams.
 */
import { execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttp2Server } from 'node:http2';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { GREETING, order, REQUEST_ID, ROUTES, rows, summarize, TOKEN, USER } from './work.mjs';

/** Seconds of load before what is measured: V8 compiles HTTP/2 for that long. */
const WARM_UP = 5;
const FILE = fileURLToPath(import.meta.url);
const SESSIONS = 10;
const ROUTED = '/api/users/42/orders/7?fields=a&limit=10';
const LARGE = rows(1_000_000, false);

/** What h2load asks for: the path, and header fields; a body makes it a POST. */
const CASES = {
  static: { path: '/' },
  routed: { path: ROUTED, headers: { authorization: TOKEN } },
  post: { path: '/orders', headers: { 'content-type': 'application/json' }, body: JSON.stringify(order()) },
  large: { path: '/large' },
};

/** The handler of the route that is asked for among thirty. */
const routed = ({ user, order: id }, { fields, limit }, by) => ({ user, order: id, fields, limit: Number(limit), by: by.name });

/** Servers by name; each serves all cases, and tells its port. */
const SERVERS = {
  async waypost() {
    const { createServer } = createRequire(import.meta.url)('../dist/index.js');
    const app = createServer({ logging: { level: 'silent' }, server: { http2: 'cleartext' } });
    app.get('/large', (req, res) => res.xJson(LARGE));
    app.post('/orders', (req, res) => res.json(summarize(req.body)));
    app.get('/', (req, res) => res.json(GREETING));
    app.use((req, res, next) => void (res.set('X-Request-Id', REQUEST_ID), next()));
    app.use((req, res, next) => void (res.set('X-Content-Type-Options', 'nosniff'), next()));
    app.use((req, res, next) => {
      if (req.get('Authorization') !== TOKEN) return void res.status(401).json({ error: 'Unauthorized' });
      req.user = USER;
      next();
    });
    for (const [method, path, isAsked] of ROUTES) app[method.toLowerCase()](path, isAsked ? (req, res) => res.json(routed(req.params, req.query, req.user)) : (req, res) => res.json(GREETING));
    return (await app.start(0, '127.0.0.1')).address().port;
  },
  async node() {
    const send = (res, body) => res.writeHead(200, { 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': Buffer.byteLength(body) }).end(body);
    const server = createHttp2Server((req, res) => {
      const { method, url } = req;
      if (method === 'GET' && url === '/') return send(res, JSON.stringify(GREETING));
      if (method === 'GET' && url === '/large') return send(res, JSON.stringify(LARGE));
      if (method === 'POST' && url === '/orders') {
        const chunks = [];
        let length = 0;
        req.on('data', (chunk) => {
          length += chunk.length;
          if (length <= 1_048_576) chunks.push(chunk);
        });
        // A stream that the client has reset ends, too.
        return req.on('end', () => req.aborted || send(res, JSON.stringify(summarize(JSON.parse(Buffer.concat(chunks).toString())))));
      }
      res.setHeader('X-Request-Id', REQUEST_ID);
      res.setHeader('X-Content-Type-Options', 'nosniff');
      if (req.headers.authorization !== TOKEN) return res.writeHead(401).end();
      const [path, query] = url.split('?');
      const [, user, id] = /^\/api\/users\/([^/]+)\/orders\/([^/]+)$/.exec(path) ?? [];
      if (user === undefined) return res.writeHead(404).end();
      send(res, JSON.stringify(routed({ user: decodeURIComponent(user), order: decodeURIComponent(id) }, Object.fromEntries(new URLSearchParams(query)), USER)));
    });
    return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server.address().port)));
  },
  async fastify() {
    const { default: Fastify } = await import('fastify');
    const app = Fastify({ http2: true });
    app.get('/large', () => LARGE);
    app.get('/', () => GREETING);
    app.post('/orders', (request) => summarize(request.body));
    await app.register(async (guarded) => {
      guarded.decorateRequest('user', null);
      guarded.addHook('onRequest', (request, reply, done) => void (reply.header('X-Request-Id', REQUEST_ID), done()));
      guarded.addHook('onRequest', (request, reply, done) => void (reply.header('X-Content-Type-Options', 'nosniff'), done()));
      guarded.addHook('onRequest', (request, reply, done) => {
        if (request.headers.authorization !== TOKEN) return void reply.code(401).send({ error: 'Unauthorized' });
        request.user = USER;
        done();
      });
      for (const [method, url, isAsked] of ROUTES) if (url !== '/') guarded.route({ method, url, handler: isAsked ? (request) => routed(request.params, request.query, request.user) : () => GREETING });
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    return app.server.address().port;
  },
  async hono() {
    const [{ serve }, { Hono }] = await Promise.all([import('@hono/node-server'), import('hono')]);
    const app = new Hono();
    app.get('/large', (c) => c.json(LARGE));
    app.get('/', (c) => c.json(GREETING));
    app.post('/orders', async (c) => c.json(summarize(await c.req.json())));
    app.use(async (c, next) => void (c.header('X-Request-Id', REQUEST_ID), await next()));
    app.use(async (c, next) => void (c.header('X-Content-Type-Options', 'nosniff'), await next()));
    app.use(async (c, next) => {
      if (c.req.header('Authorization') !== TOKEN) return c.json({ error: 'Unauthorized' }, 401);
      c.set('user', USER);
      await next();
    });
    for (const [method, path, isAsked] of ROUTES) app.on(method, path, isAsked ? (c) => c.json(routed(c.req.param(), c.req.query(), c.get('user'))) : (c) => c.json(GREETING));
    return new Promise((resolve) => serve({ fetch: app.fetch, createServer: createHttp2Server, port: 0, hostname: '127.0.0.1' }, ({ port }) => resolve(port)));
  },
};

/** Requests a second that a server answers, all of them by 2xx. */
async function measure(name, { path, headers = {}, body }, streams, seconds, folder) {
  const server = fork(FILE, ['serve', name], { execArgv: [], env: { ...process.env, NODE_ENV: 'production' }, ...pinned('0') });
  const [port] = await once(server, 'message');
  const given = Object.entries(headers).flatMap(([field, value]) => ['-H', `${field}: ${value}`]);
  if (body !== undefined) {
    writeFileSync(join(folder, 'body'), body);
    given.push('-d', join(folder, 'body'));
  }
  const load = (duration) => execFileSync('taskset', ['-c', '1', 'h2load', '-t', '1', '-c', String(SESSIONS), '-m', String(streams), '-D', String(duration), ...given, `http://127.0.0.1:${port}${path}`], { encoding: 'utf8' });
  load(WARM_UP);
  const said = load(seconds);
  server.kill('SIGKILL');
  const [, good = '0', redirected = '0', refused = '0', broken = '0'] = /status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx/.exec(said) ?? [];
  if (Number(good) === 0 || Number(redirected) + Number(refused) + Number(broken) > 0) throw new Error(`${name} ${path}: ${said}`);
  return Number(good) / seconds;
}

function pinned(core) {
  return process.platform === 'linux' ? { execPath: 'taskset', execArgv: ['-c', core, process.execPath] } : {};
}

function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}

if (process.argv[2] === 'serve') process.send(await SERVERS[process.argv[3]]());
else {
  const [rounds = '9', seconds = '2', chosen = Object.keys(CASES).join(), counts = '1,100'] = process.argv.slice(2);
  const names = Object.keys(SERVERS);
  const folder = mkdtempSync(join(tmpdir(), 'waypost-http2-'));
  console.log(`Node ${process.versions.node}, h2load, ${SESSIONS} sessions, ${rounds} rounds of ${seconds} s: times as many requests as waypost serves of each\n\n| Case | Streams | waypost | ${names.slice(1).join(' | ')} |\n|---|--:|--:|${names.slice(1).map(() => '--:').join('|')}|`);
  for (const work of chosen.split(',')) {
    for (const streams of work === 'large' ? [1] : counts.split(',').map(Number)) {
      const rates = Object.fromEntries(names.map((name) => [name, []]));
      for (let round = 0; round < Number(rounds); round++) {
        for (const name of round % 2 === 0 ? names : names.toReversed()) rates[name].push(await measure(name, CASES[work], streams, Number(seconds), folder));
      }
      const ratios = names.slice(1).map((name) => {
        const all = rates.waypost.map((rate, round) => rate / rates[name][round]).sort((a, b) => a - b);
        return `${median(all).toFixed(2)} (${all[0].toFixed(2)}–${all.at(-1).toFixed(2)})`;
      });
      console.log(`| ${work} | ${streams} | ${Math.round(median(rates.waypost)).toLocaleString('en')} /s | ${ratios.join(' | ')} |`);
    }
  }
  rmSync(folder, { recursive: true });
}
