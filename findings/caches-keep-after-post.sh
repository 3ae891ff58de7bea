#!/usr/bin/env bash
# A cache must drop what it holds of an address when a POST to it has succeeded (RFC 9111 section 4.4). The cache of got 14.6.6 and
# axios-cache-interceptor 1.12.3 answer the next GET by the state before the POST. undici 7.30.2 (its cache interceptor) and make-fetch-happen
# 15.0.6 ask anew. make-fetch-happen in turn takes no account of `Age`: what a cache on the way has held for longer than `max-age` counts as fresh.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund axios@1.21.1 axios-cache-interceptor@1.12.3 got@14.6.6 make-fetch-happen@15.0.6 undici@7.30.2 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';
import axios from 'axios';
import { setupCache } from 'axios-cache-interceptor';
import got from 'got';
import makeFetchHappen from 'make-fetch-happen';
import { Agent, interceptors, request } from 'undici';

let state = 1;
const server = http.createServer((req, res) => {
  if (req.method === 'POST') state++;
  res.writeHead(200, { 'Cache-Control': 'max-age=60', 'Content-Type': 'text/plain', ...(req.url.endsWith('/aged') && { Age: '100' }) });
  res.end(req.url.endsWith('/aged') ? String(state++) : String(state));
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const cached = setupCache(axios.create());
const dispatcher = new Agent().compose(interceptors.cache());
const cache = new Map();
const clients = {
  'axios-cache-interceptor': async (url, method) => String((await cached.request({ url, method })).data),
  got: async (url, method) => (await got(url, { method, cache })).body,
  'make-fetch-happen': async (url, method) => (await makeFetchHappen(url, { method, cachePath: './cache' })).text(),
  undici: async (url, method) => (await request(url, { method, dispatcher })).body.text(),
};
for (const [name, ask] of Object.entries(clients)) {
  const url = `http://127.0.0.1:${server.address().port}/${name}`;
  state = 1;
  const seen = [await ask(url, 'GET'), await ask(url, 'GET'), await ask(url, 'POST'), await ask(url, 'GET')];
  state = 1;
  const aged = [await ask(`${url}/aged`, 'GET'), await ask(`${url}/aged`, 'GET')];
  console.log(`${name}: GET, GET, POST, GET ${seen.join(' ')}; aged ${aged.join(' ')}`);
}
process.exit();
JS
node program.mjs | tee output
cat >expected <<'TEXT'
axios-cache-interceptor: GET, GET, POST, GET 1 1 2 1; aged 1 2
got: GET, GET, POST, GET 1 1 2 1; aged 1 2
make-fetch-happen: GET, GET, POST, GET 1 1 2 2; aged 1 1
undici: GET, GET, POST, GET 1 1 2 2; aged 1 2
TEXT
diff output expected
