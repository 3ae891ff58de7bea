#!/usr/bin/env bash
# h3 2.0.8 answers a File that a handler returns with a Content-Disposition that has a filename, and no disposition type before it.
# RFC 6266 section 4.1 asks for one, `inline` or `attachment`. The package content-disposition 2.0.1 takes the file name for the type.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund h3@2.0.8 content-disposition@2.0.1 >/dev/null
cat >program.mjs <<'JS'
import * as contentDisposition from 'content-disposition';
import { H3 } from 'h3';
const app = new H3().get('/report', () => new File(['a;b\n'], 'report.csv', { type: 'text/csv' }));
const response = await app.request('/report');
const field = response.headers.get('content-disposition');
console.log(field);
console.log(contentDisposition.parse(field).type);
JS
node program.mjs | tee output
grep -qx 'filename="report.csv"; filename\*=UTF-8.*' output || { echo "the field has a type now"; exit 1; }
[ "$(sed -n 2p output)" = 'filename="report.csv"' ] || { echo "the field is read otherwise now"; exit 1; }
