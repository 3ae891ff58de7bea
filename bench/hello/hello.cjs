/** The smallest program of each peer, as CommonJS: `node hello.cjs fastify` prints its port. What is timed is its start. */
'use strict';

const { resolve } = require('node:path');

const BODY = { hello: 'world' };
const root = process.env.WAYPOST_ROOT ?? resolve(module.path, '../..');

const programs = {
  async waypost(ready) {
    const { createServer } = require(resolve(root, 'lib/entry.js'));
    const app = createServer({ logging: { level: 'silent' } });
    app.get('/', (req, res) => res.json(BODY));
    const server = await app.start(0, '127.0.0.1');
    ready(server.address());
  },

  node(ready) {
    const { createServer } = require('node:http');
    const body = JSON.stringify(BODY);
    const server = createServer((req, res) => {
      res.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(body) }).end(body);
    });
    server.listen(0, '127.0.0.1', () => ready(server.address()));
  },

  async fastify(ready) {
    const app = require('fastify')();
    app.get('/', () => BODY);
    await app.listen({ port: 0, host: '127.0.0.1' });
    ready(app.server.address());
  },

  express(ready) {
    const app = require('express')();
    app.get('/', (req, res) => res.json(BODY));
    const server = app.listen(0, '127.0.0.1', () => ready(server.address()));
  },

  hono(ready) {
    const { serve } = require('@hono/node-server');
    const { Hono } = require('hono');
    const app = new Hono();
    app.get('/', (context) => context.json(BODY));
    serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, ready);
  },

  koa(ready) {
    const Koa = require('koa');
    const Router = require('@koa/router');
    const app = new Koa();
    const router = new Router();
    router.get('/', (context) => { context.body = BODY; });
    const server = app.use(router.routes()).listen(0, '127.0.0.1', () => ready(server.address()));
  },

  polka(ready) {
    const app = require('polka')();
    app.get('/', (req, res) => {
      res.setHeader('Content-Type', 'application/json');
      res.end(JSON.stringify(BODY));
    });
    app.listen(0, '127.0.0.1', () => ready(app.server.address()));
  },

  async restana(ready) {
    const app = require('restana')();
    app.get('/', (req, res) => res.send(BODY));
    const server = await app.start(0, '127.0.0.1');
    ready(server.address());
  },

  /** h3 is made of ES modules alone. */
  async h3(ready) {
    const { H3, serve } = await import('h3');
    const app = new H3();
    app.get('/', () => BODY);
    const server = await serve(app, { port: 0, hostname: '127.0.0.1', silent: true }).ready();
    ready(server.node.server.address());
  },
};

programs[process.argv[2]](({ port }) => console.log(port));
