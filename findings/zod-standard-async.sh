#!/usr/bin/env bash
# zod 4.6.7, `schema['~standard'].validate(value)` of an object whose refinement is asynchronous: the refinement is begun twice for
# one value, since zod tries the synchronous way first. A lookup in it, such as for a taken name, is paid for twice. By
# `schema.parseAsync` it is begun once, and so it is by the `validate` of valibot 1.2.0.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund zod@4.6.7 valibot@1.2.0 >/dev/null
cat >program.mjs <<'JS'
import * as v from 'valibot';
import { z } from 'zod';
let count = 0;
const free = async () => {
  count++;
  return true;
};
const begun = async (work) => {
  count = 0;
  await work();
  return count;
};
const ofZod = z.object({ name: z.string().refine(free) });
const ofValibot = v.objectAsync({ name: v.pipeAsync(v.string(), v.checkAsync(free)) });
const value = { name: 'Ada' };
console.log('zod, ~standard', await begun(() => ofZod['~standard'].validate(value)));
console.log('zod, parseAsync', await begun(() => ofZod.parseAsync(value)));
console.log('valibot, ~standard', await begun(() => ofValibot['~standard'].validate(value)));
JS
seen="$(node program.mjs)"
echo "$seen"
# What was seen.
[[ "$seen" == 'zod, ~standard 2
zod, parseAsync 1
valibot, ~standard 1' ]]
