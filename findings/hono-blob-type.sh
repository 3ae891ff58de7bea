#!/usr/bin/env bash
# A fetch handler returns a Response of a Blob, which says its own type. Under `serve` of @hono/node-server 2.1.9 that type is lost: the
# client gets text/plain, or no Content-Type at all if the Response has other fields. `serve` puts a Response of its own in the place of the
# global one for the whole process, also for code that has nothing to do with Hono, and that class takes the type of a Blob for absent.
# FormData and URLSearchParams keep their types. With `overrideGlobalObjects: false` the Blob does too.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @hono/node-server@2.1.9 hono@4.13.19 >/dev/null
cat >program.mjs <<'JS'
import { once } from 'node:events';
import { serve } from '@hono/node-server';

const blob = new Blob(['<svg/>'], { type: 'image/svg+xml' });
const bodies = {
  '/blob': () => new Response(blob),
  '/blob-and-field': () => new Response(blob, { headers: { 'x-a': '1' } }),
  '/form': () => new Response(new URLSearchParams({ a: '1' })),
};
const typeOf = (headers) => headers.get('content-type') ?? 'none';
console.log(`before serve: ${typeOf(new Response(blob).headers)}`);
for (const overrideGlobalObjects of [false, true]) {
  const server = serve({ fetch: (req) => bodies[new URL(req.url).pathname](), port: 0, hostname: '127.0.0.1', overrideGlobalObjects });
  if (!server.listening) await once(server, 'listening');
  for (const path of Object.keys(bodies)) {
    const { headers } = await fetch(`http://127.0.0.1:${server.address().port}${path}`);
    console.log(`override ${overrideGlobalObjects}, ${path}: ${typeOf(headers)}`);
  }
}
console.log(`after serve: ${typeOf(new Response(blob).headers)}`);
process.exit();
JS
cat >expected <<'TEXT'
before serve: image/svg+xml
override false, /blob: image/svg+xml
override false, /blob-and-field: image/svg+xml
override false, /form: application/x-www-form-urlencoded;charset=UTF-8
override true, /blob: text/plain; charset=UTF-8
override true, /blob-and-field: none
override true, /form: application/x-www-form-urlencoded;charset=UTF-8
after serve: text/plain; charset=UTF-8
TEXT
node program.mjs | tee output
diff output expected
