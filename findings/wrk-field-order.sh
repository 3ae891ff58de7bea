#!/usr/bin/env bash
# wrk 4.1.0, as Debian builds it, sends the fields that a Lua script puts into `wrk.headers` in an order of its own in each run. To V8
# `req.headers` of each order is another shape, so each run of a comparison has it compile anew what reads the fields. A text that the
# script's own `wrk.format` returns keeps its order.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -qq wrk libluajit-5.1-2 libluajit-5.1-common >/dev/null 2>&1
for package in *.deb; do dpkg -x "$package" .; done
cat >server.mjs <<'JS'
import { execFileSync, execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { promisify } from 'node:util';
const NAMES = ['X-One', 'X-Two', 'X-Three', 'X-Four', 'X-Five', 'X-Six'];
let orders = new Set();
const server = createServer((req, res) => {
  orders.add(req.rawHeaders.filter((_, i) => i % 2 === 0).join(' '));
  res.end();
}).listen(0, '127.0.0.1', async () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  const head = `GET / HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n${NAMES.map((name) => `${name}: 1\\r\\n`).join('')}\\r\\n`;
  writeFileSync('table.lua', NAMES.map((name) => `wrk.headers["${name}"] = "1"`).join('\n'));
  writeFileSync('text.lua', `wrk.format = function() return "${head}" end`);
  for (const script of ['table', 'text']) {
    orders = new Set();
    for (let run = 0; run < 12; run++) await promisify(execFile)('usr/bin/wrk', ['-t1', '-c1', '-d1s', '-s', `${script}.lua`, url]);
    console.log(script, orders.size);
  }
  server.close();
});
JS
LD_LIBRARY_PATH="$(dirname "$(find . -name 'libluajit*' | head -1)")" node server.mjs | tee output
[ "$(sed -n 's/^table //p' output)" -gt 2 ] || { echo "wrk keeps the order now"; exit 1; }
grep -qx 'text 1' output || { echo "wrk.format does not keep the order"; exit 1; }
