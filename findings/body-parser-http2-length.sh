#!/usr/bin/env bash
# body-parser 2.4.0 as middleware of a server of node:http2. A body without Content-Length, which HTTP/2 allows and its own client
# sends, is left out: `req.body` stays undefined, and no error is raised. Whether there is a body it asks type-is, which looks for
# Content-Length or Transfer-Encoding, and HTTP/2 forbids the second. With Content-Length the body is parsed.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund body-parser@2.4.0 >/dev/null
cat >program.mjs <<'JS'
import bodyParser from 'body-parser';
import { connect, createServer } from 'node:http2';
import { text } from 'node:stream/consumers';

const parse = bodyParser.json();
const server = createServer((req, res) => parse(req, res, (error) => res.end(`${error?.message ?? 'no error'}, ${JSON.stringify(req.body)}`)));
server.listen(0, '127.0.0.1', async () => {
  const client = connect(`http://127.0.0.1:${server.address().port}`);
  for (const length of [{}, { 'content-length': '7' }]) {
    const stream = client.request({ ':method': 'POST', 'content-type': 'application/json', ...length });
    stream.end('{"a":1}');
    console.log(await text(stream));
  }
  process.exit();
});
JS
seen="$(node program.mjs)"
echo "$seen"
# What was seen.
[[ "$seen" == 'no error, undefined
no error, {"a":1}' ]]
