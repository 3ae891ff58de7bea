#!/usr/bin/env bash
# h3 2.0.8 sends the fields of `event.res.headers` with a value that a handler returns, and with a Response of status 200. With a
# returned Response of status 400 and above it leaves them out: a 404 loses the Cache-Control, the cookie or the CORS fields that
# middleware has set. What it sends then is `event.res.errHeaders`.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund h3@2.0.8 >/dev/null
cat >program.mjs <<'JS'
import { H3 } from 'h3';
const app = new H3();
app.use((event) => void event.res.headers.set('x-request-id', '17'));
app.get('/value', () => ({ ok: true }));
app.get('/found', () => new Response('found'));
app.get('/missing', () => new Response('missing', { status: 404 }));
for (const path of ['/value', '/found', '/missing']) {
  const { status, headers } = await app.request(path);
  console.log(path, status, headers.get('x-request-id'));
}
JS
node program.mjs | tee output
printf '/value 200 17\n/found 200 17\n/missing 404 null\n' | diff - output || { echo "h3 does otherwise now"; exit 1; }
