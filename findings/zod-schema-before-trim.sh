#!/usr/bin/env bash
# The JSON Schema that zod 4.6.7 gives for the input of a schema has the rules behind `trim` and `toLowerCase` as if they held for what arrives.
# `z.string().trim().max(3)` has maxLength 3, and zod takes "  abc  "; `z.string().toLowerCase().regex(/^[a-z]+$/)` has the pattern, and zod
# takes "ABC": a client or gateway that goes by the OpenAPI document refuses what the server takes. A transform that is written by hand and
# piped has no such rule in its input. valibot 1.5.0 with @valibot/to-json-schema 1.8.0 throws for the same schema.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund zod@4.6.7 valibot@1.5.0 @valibot/to-json-schema@1.8.0 ajv@8.20.0 >/dev/null
cat >program.mjs <<'JS'
import { toJsonSchema } from '@valibot/to-json-schema';
import Ajv from 'ajv/dist/2020.js';
import * as v from 'valibot';
import { z } from 'zod';

const cases = [
  ['trim', z.string().trim().max(3), '  abc  '],
  ['toLowerCase', z.string().toLowerCase().regex(/^[a-z]+$/), 'ABC'],
  ['by hand', z.string().transform((text) => text.trim()).pipe(z.string().max(3)), '  abc  '],
];
for (const [name, schema, text] of cases) {
  const { $schema, ...json } = schema['~standard'].jsonSchema.input({ target: 'draft-2020-12' });
  const byZod = schema.safeParse(text).success ? 'takes' : 'refuses';
  const bySchema = new Ajv().validate(json, text) ? 'takes' : 'refuses';
  console.log(`${name}: zod ${byZod}, its schema ${bySchema} ${JSON.stringify(text)}: ${JSON.stringify(json)}`);
}
try {
  toJsonSchema(v.pipe(v.string(), v.trim(), v.maxLength(3)));
  console.log('valibot: no error');
} catch (error) {
  console.log(`valibot: ${error.constructor.name}`);
}
JS
cat >expected <<'TEXT'
trim: zod takes, its schema refuses "  abc  ": {"type":"string","maxLength":3}
toLowerCase: zod takes, its schema refuses "ABC": {"type":"string","pattern":"^[a-z]+$"}
by hand: zod takes, its schema takes "  abc  ": {"type":"string"}
valibot: Error
TEXT
node program.mjs | tee output
diff output expected
