#!/usr/bin/env bash
# @valibot/to-json-schema 1.8.0 turns `isoDateTime` and `isoTime` of valibot 1.5.0 into the formats `date-time` and `time`. The actions take
# minutes without seconds and without an offset, the formats (RFC 3339) want both: no text is valid by the action and by its schema. A client
# that is generated from the OpenAPI document sends 2026-01-02T03:04:05Z and gets 400; a client that sends what the server takes is refused by
# its own validator, here ajv. `isoTimestamp` has the same format and agrees with it.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund valibot@1.5.0 @valibot/to-json-schema@1.8.0 ajv@8.20.0 ajv-formats@3.0.1 >/dev/null
cat >program.mjs <<'JS'
import { toJsonSchema } from '@valibot/to-json-schema';
import Ajv from 'ajv';
import formats from 'ajv-formats';
import * as v from 'valibot';

const dates = ['2026-01-02T', ''];
const times = ['03:04', '03:04:05', '03:04:05.678'];
const offsets = ['', 'Z', '+01:00', '-0100'];
const texts = dates.flatMap((date) => times.flatMap((time) => offsets.map((offset) => date + time + offset)));
const ajv = new Ajv();
formats(ajv);
for (const name of ['isoDateTime', 'isoTime', 'isoTimestamp']) {
  const schema = v.pipe(v.string(), v[name]());
  const { $schema, ...json } = toJsonSchema(schema);
  const isValid = ajv.compile(json);
  const counts = { action: 0, schema: 0, both: 0 };
  for (const text of texts) {
    const isTaken = v.safeParse(schema, text).success;
    if (isTaken) counts.action++;
    if (isValid(text)) counts.schema++;
    if (isTaken && isValid(text)) counts.both++;
  }
  console.log(`${name} ${json.format}: action ${counts.action}, schema ${counts.schema}, both ${counts.both}`);
}
JS
cat >expected <<'TEXT'
isoDateTime date-time: action 1, schema 6, both 0
isoTime time: action 1, schema 6, both 0
isoTimestamp date-time: action 6, schema 6, both 6
TEXT
node program.mjs | tee output
diff output expected
