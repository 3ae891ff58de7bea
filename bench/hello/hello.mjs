/** The smallest program of each peer, as an ES module: `node hello.mjs fastify` prints its port. What is timed is its start. */
import { resolve } from 'node:path';

const BODY = { hello: 'world' };
const root = process.env.WAYPOST_ROOT ?? resolve(import.meta.dirname, '../..');

const programs = {
  async waypost(ready) {
    const { createServer } = await import(resolve(root, 'lib/entry.js'));
    const app = createServer({ logging: { level: 'silent' } });
    app.get('/', (req, res) => res.json(BODY));
    const server = await app.start(0, '127.0.0.1');
    ready(server.address());
  },

  async node(ready) {
    const { createServer } = await import('node:http');
    const body = JSON.stringify(BODY);
    const server = createServer((req, res) => {
      res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }).end(body);
    });
    server.listen(0, '127.0.0.1', () => ready(server.address()));
  },

  async fastify(ready) {
    const { default: Fastify } = await import('fastify');
    const app = Fastify();
    app.get('/', () => BODY);
    await app.listen({ port: 0, host: '127.0.0.1' });
    ready(app.server.address());
  },

  async express(ready) {
    const { default: express } = await import('express');
    const app = express();
    app.get('/', (req, res) => res.json(BODY));
    const server = app.listen(0, '127.0.0.1', () => ready(server.address()));
  },

  async hono(ready) {
    const [{ serve }, { Hono }] = [await import('@hono/node-server'), await import('hono')];
    const app = new Hono();
    app.get('/', (context) => context.json(BODY));
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ready);
  },

  async koa(ready) {
    const [{ default: Koa }, { default: Router }] = [await import('koa'), await import('@koa/router')];
    const app = new Koa();
    const router = new Router();
    router.get('/', (context) => { context.body = BODY; });
    const server = app.use(router.routes()).listen(0, '127.0.0.1', () => ready(server.address()));
  },

  async polka(ready) {
    const { default: polka } = await import('polka');
    const app = polka();
    app.get('/', (req, res) => {
      res.setHeader('Content-Type', 'application/json');
      res.end(JSON.stringify(BODY));
    });
    app.listen(0, '127.0.0.1', () => ready(app.server.address()));
  },

  async restana(ready) {
    const { default: restana } = await import('restana');
    const app = restana();
    app.get('/', (req, res) => res.send(BODY));
    const server = await app.start(0, '127.0.0.1');
    ready(server.address());
  },

  async h3(ready) {
    const { H3, serve } = await import('h3');
    const app = new H3();
    app.get('/', () => BODY);
    const server = await serve(app, { port: 0, hostname: '127.0.0.1', silent: true }).ready();
    ready(server.node.server.address());
  },
};

await programs[process.argv[2]](({ port }) => console.log(port));
