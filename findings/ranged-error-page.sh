#!/usr/bin/env bash
# A page for an error that is sent as a file, asked for with `Range: bytes=0-3`, as media players and resumed downloads do. Express 5.3.0 makes
# the 404 a 206, and a 416 where the page is shorter than the range: a missing file looks like a part of one. @fastify/static 9.3.0 keeps the
# 404, with four bytes of the page, and has the same 416. koa-send 5.0.1 sends the page. By RFC 9110 section 14.2 a range counts for a 200 alone.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund express@5.3.0 fastify@5.12.8 @fastify/static@9.3.0 koa@3.3.0 koa-send@5.0.1 >/dev/null
echo 'not found' >page.txt
cat >program.mjs <<'JS'
import { once } from 'node:events';
import fastifyStatic from '@fastify/static';
import express from 'express';
import Fastify from 'fastify';
import Koa from 'koa';
import send from 'koa-send';

const root = process.cwd();
const ofExpress = express().use((req, res) => res.status(404).sendFile('page.txt', { root })).set('env', 'test').listen(0);
const fastify = Fastify();
fastify.register(fastifyStatic, { root, serve: false });
fastify.setNotFoundHandler((request, reply) => reply.code(404).sendFile('page.txt'));
await fastify.listen({ port: 0 });
const ofKoa = new Koa().use(async (context) => {
  await send(context, 'page.txt', { root });
  context.status = 404;
}).listen(0);
await Promise.all([ofExpress, ofKoa].map((server) => server.listening || once(server, 'listening')));
for (const [name, server] of Object.entries({ express: ofExpress, '@fastify/static': fastify.server, 'koa-send': ofKoa })) {
  for (const range of ['bytes=0-3', 'bytes=99-']) {
    const answer = await fetch(`http://localhost:${server.address().port}/none`, { headers: { range } });
    const text = await answer.text();
    console.log(`${name} ${range}: ${answer.status}${answer.status === 416 ? '' : ` ${JSON.stringify(text.trim())}`}`);
  }
}
process.exit();
JS
node program.mjs 2>/dev/null | tee output
cat >expected <<'TEXT'
express bytes=0-3: 206 "not"
express bytes=99-: 416
@fastify/static bytes=0-3: 404 "not"
@fastify/static bytes=99-: 416
koa-send bytes=0-3: 404 "not found"
koa-send bytes=99-: 404 "not found"
TEXT
diff output expected
