#!/usr/bin/env bash
# router 2.2.0 and 2.3.0, Express's router. In 2.2.0 `match(path)` of a layer in `router.stack` returns true, and leaves `path` and
# `params` on the layer. In 2.3.0 it returns an object that holds them, and leaves nothing on the layer. So a tool that walks a stack
# and compares with true, or reads `layer.params`, passes over every layer of 2.3.0 without an error. Express 5 takes either version.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund old@npm:router@2.2.0 new@npm:router@2.3.0 >/dev/null
seen="$(node -e '
for (const name of ["old", "new"]) {
  const router = require(name)();
  router.get("/users/:id", (req, res) => res.end());
  const [layer] = router.stack;
  const match = layer.match("/users/7");
  console.log(name, JSON.stringify({ match, layer: layer.params }));
}')"
echo "$seen"
# What was seen.
[[ "$seen" == 'old {"match":true,"layer":{"id":"7"}}
new {"match":{"params":{"id":"7"},"path":"/users/7","keys":["id"],"pattern":"/users/:id"}}' ]]
