#!/usr/bin/env bash
# What proxies of npm pass on of an answer with trailers and of a 103 Early Hints: none of either. @fastify/http-proxy 11.6.3, express-http-proxy
# 2.1.2, fast-proxy 2.2.0, http-proxy-3 1.23.3, http-proxy-middleware 3.0.11 and httpxy 0.5.6 still send the field `Trailer`, which names a field
# that never comes; the proxy helper of hono 4.13.19 leaves that out too. So a digest or a status that comes as a trailer is lost without a word.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @fastify/http-proxy@11.6.3 @hono/node-server@2.1.8 express@5.3.0 express-http-proxy@2.1.2 fast-proxy@2.2.0 fastify@5.12.8 hono@4.13.19 http-proxy-3@1.23.3 http-proxy-middleware@3.0.11 httpxy@0.5.6 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';
import fastifyProxy from '@fastify/http-proxy';
import { serve } from '@hono/node-server';
import express from 'express';
import expressProxy from 'express-http-proxy';
import fastProxy from 'fast-proxy';
import Fastify from 'fastify';
import { Hono } from 'hono';
import { proxy } from 'hono/proxy';
import httpProxy3 from 'http-proxy-3';
import { createProxyMiddleware } from 'http-proxy-middleware';
import { createProxyServer } from 'httpxy';

const behind = http.createServer((req, res) => {
  res.writeEarlyHints({ link: '</a.css>; rel=preload; as=style' });
  res.writeHead(200, { Trailer: 'X-Sum' });
  res.write('a');
  res.addTrailers({ 'X-Sum': '1' });
  res.end();
}).listen(0, '127.0.0.1');
await once(behind, 'listening');
const target = `http://127.0.0.1:${behind.address().port}`;
const fastify = Fastify();
fastify.register(fastifyProxy, { upstream: target });
await fastify.listen({ port: 0, host: '127.0.0.1' });
const hono = new Hono().all('*', (context) => proxy(target + context.req.path, context.req));
const [proxy3, proxyX, { proxy: fast }] = [httpProxy3.createProxyServer({}), createProxyServer({}), fastProxy({ base: target })];
const proxies = {
  'none': behind,
  '@fastify/http-proxy': fastify.server,
  'express-http-proxy': http.createServer(express().use(expressProxy(target))),
  'fast-proxy': http.createServer((req, res) => fast(req, res, req.url, {})),
  'hono/proxy': serve({ fetch: hono.fetch, port: 0, hostname: '127.0.0.1' }),
  'http-proxy-3': http.createServer((req, res) => proxy3.web(req, res, { target })),
  'http-proxy-middleware': http.createServer(express().use(createProxyMiddleware({ target }))),
  'httpxy': http.createServer((req, res) => proxyX.web(req, res, { target })),
};
for (const [name, server] of Object.entries(proxies)) {
  if (!server.listening) {
    if (name !== 'hono/proxy') server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const request = http.get({ port: server.address().port, host: '127.0.0.1' });
  let hints = 0;
  request.on('information', () => hints++);
  const [answer] = await once(request, 'response');
  answer.resume();
  await once(answer, 'end');
  console.log(`${name}: ${hints} early hints, Trailer ${answer.headers.trailer ?? 'absent'}, trailers ${JSON.stringify(answer.trailers)}`);
}
process.exit();
JS
node program.mjs | tee output
cat >expected <<'TEXT'
none: 1 early hints, Trailer X-Sum, trailers {"x-sum":"1"}
@fastify/http-proxy: 0 early hints, Trailer X-Sum, trailers {}
express-http-proxy: 0 early hints, Trailer X-Sum, trailers {}
fast-proxy: 0 early hints, Trailer X-Sum, trailers {}
hono/proxy: 0 early hints, Trailer absent, trailers {}
http-proxy-3: 0 early hints, Trailer X-Sum, trailers {}
http-proxy-middleware: 0 early hints, Trailer X-Sum, trailers {}
httpxy: 0 early hints, Trailer X-Sum, trailers {}
TEXT
diff output expected
