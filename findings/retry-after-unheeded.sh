#!/usr/bin/env bash
# Who waits for the time that a 503 with `Retry-After: 2` asks for. ky 1.14.3, undici 7.30.2 (its retry interceptor) and axios-retry 4.5.0 do.
# ofetch 1.5.1, which asks a second time without being told to, superagent 10.4.2, wretch 2.11.1 and up-fetch 2.6.1 ask again at once;
# make-fetch-happen 15.0.6 after the second that its own back-off has. So a limited or closing server gets its load twice.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund axios@1.21.1 axios-retry@4.5.0 ky@1.14.3 make-fetch-happen@15.0.6 ofetch@1.5.1 superagent@10.4.2 undici@7.30.2 up-fetch@2.6.1 wretch@2.11.1 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';
import axios from 'axios';
import axiosRetry from 'axios-retry';
import ky from 'ky';
import makeFetchHappen from 'make-fetch-happen';
import { ofetch } from 'ofetch';
import superagent from 'superagent';
import { Agent, interceptors, request } from 'undici';
import { up } from 'up-fetch';
import wretch from 'wretch';
import { retry } from 'wretch/middlewares';

const times = [];
const server = http.createServer((req, res) => {
  times.push(performance.now());
  if (times.length === 1) res.writeHead(503, { 'Retry-After': '2' }).end('later');
  else res.end('now');
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const url = `http://127.0.0.1:${server.address().port}/`;
axiosRetry(axios, { retries: 1 });
const dispatcher = new Agent().compose(interceptors.retry({ maxRetries: 1 }));
const clients = {
  'axios-retry': () => axios.get(url),
  ky: () => ky(url),
  'make-fetch-happen': () => makeFetchHappen(url, { retry: 1 }),
  ofetch: () => ofetch(url),
  superagent: () => superagent.get(url).retry(1),
  undici: () => request(url, { dispatcher }),
  'up-fetch': () => up(fetch)(url, { retry: { attempts: 1 } }),
  wretch: () => wretch(url).middlewares([retry({ maxAttempts: 1, delayTimer: 10 })]).get().res(),
};
for (const [name, call] of Object.entries(clients)) {
  times.length = 0;
  await call();
  console.log(`${name}: ${times.length} requests, ${times[1] - times[0] >= 1800 ? 'waits' : 'does not wait'}`);
}
process.exit();
JS
node program.mjs | tee output
cat >expected <<'TEXT'
axios-retry: 2 requests, waits
ky: 2 requests, waits
make-fetch-happen: 2 requests, does not wait
ofetch: 2 requests, does not wait
superagent: 2 requests, does not wait
undici: 2 requests, waits
up-fetch: 2 requests, does not wait
wretch: 2 requests, does not wait
TEXT
diff output expected
