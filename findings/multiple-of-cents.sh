#!/usr/bin/env bash
# Prices from 0.01 to 100.00 as JSON.parse reads them, against a step of 0.01. zod 4.6.7 takes all 10,000. ajv 8.20.0, by the very JSON Schema
# that zod gives, refuses 1,363 of them, such as 0.29 and 19.99, unless it has `multipleOfPrecision`. `multipleOf` of valibot 1.5.0 goes by the
# operator % alone and takes 14 of them: it refuses 1 and 0.5. @valibot/to-json-schema 1.8.0 gives the same JSON Schema for it as zod does. So
# a server and a client that have one rule by the OpenAPI document do not agree on prices. On whole cents, as integers, they do.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund zod@4.6.7 valibot@1.5.0 @valibot/to-json-schema@1.8.0 ajv@8.20.0 >/dev/null
cat >program.mjs <<'JS'
import { toJsonSchema } from '@valibot/to-json-schema';
import Ajv from 'ajv';
import * as v from 'valibot';
import { z } from 'zod';

const byZod = z.number().multipleOf(0.01);
const byValibot = v.pipe(v.number(), v.multipleOf(0.01));
const schemas = [z.toJSONSchema(byZod, { target: 'draft-7' }), toJsonSchema(byValibot)];
const validate = schemas.map((schema) => new Ajv().compile(schema));
const validators = {
  zod: (price) => byZod.safeParse(price).success,
  'ajv, schema of zod': validate[0],
  'ajv, schema of valibot': validate[1],
  'ajv, multipleOfPrecision': new Ajv({ multipleOfPrecision: 6 }).compile(schemas[0]),
  valibot: (price) => v.is(byValibot, price),
};
const prices = Array.from({ length: 10_000 }, (_, index) => JSON.parse(`${Math.floor((index + 1) / 100)}.${String((index + 1) % 100).padStart(2, '0')}`));
for (const [name, isValid] of Object.entries(validators)) {
  const taken = prices.filter((price) => isValid(price));
  console.log(`${name}: ${taken.length}, ${[0.29, 0.5, 1, 19.99].map((price) => `${price} ${taken.includes(price)}`).join(', ')}`);
}
JS
node program.mjs | tee output
cat >expected <<'TEXT'
zod: 10000, 0.29 true, 0.5 true, 1 true, 19.99 true
ajv, schema of zod: 8637, 0.29 false, 0.5 true, 1 true, 19.99 false
ajv, schema of valibot: 8637, 0.29 false, 0.5 true, 1 true, 19.99 false
ajv, multipleOfPrecision: 10000, 0.29 true, 0.5 true, 1 true, 19.99 true
valibot: 14, 0.29 false, 0.5 false, 1 false, 19.99 false
TEXT
diff output expected
