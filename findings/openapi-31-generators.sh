#!/usr/bin/env bash
# What generators of clients make of OpenAPI 3.1, as zod schemas. openapi-zod-client 1.18.3 loses `const`, the items of a tuple (`prefixItems`),
# "integer" where `null` is allowed too, and `additionalProperties: false`: its schemas take what the server refuses, and it says nothing of that.
# @hey-api/openapi-ts 0.95.0 keeps all but the last. Of `format: int64` its types make a number, and its schemas beside them a BigInt
# (`z.coerce.bigint()`): what has passed the schema cannot be sent by JSON.stringify, which throws for a BigInt.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund @hey-api/openapi-ts@0.95.0 openapi-zod-client@1.18.3 typescript@5.9.3 zod@4.4.3 >/dev/null
cat >document.json <<'JSON'
{
  "openapi": "3.1.1",
  "info": { "title": "Things", "version": "1" },
  "paths": {
    "/things": {
      "post": {
        "operationId": "make",
        "requestBody": { "required": true, "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Thing" } } } },
        "responses": { "204": { "description": "Made" } }
      }
    }
  },
  "components": {
    "schemas": {
      "Thing": {
        "type": "object",
        "properties": {
          "kind": { "type": "string", "const": "thing" },
          "pair": { "type": "array", "prefixItems": [{ "type": "string" }, { "type": "number" }] },
          "count": { "type": ["integer", "null"] },
          "big": { "type": "integer", "format": "int64" }
        },
        "required": ["kind", "pair", "count", "big"],
        "additionalProperties": false
      }
    }
  }
}
JSON
npx openapi-zod-client document.json -o zod-client.ts >/dev/null 2>&1
npx openapi-ts -i document.json -o hey -p @hey-api/typescript zod >/dev/null 2>&1
{
  sed -n '/^const Thing = /,/^});\|;$/p' zod-client.ts
  sed -n '/zThing = /,/^});/p' hey/zod.gen.ts | sed 's/\.min(.*/…/'
  grep 'big:' hey/types.gen.ts
} | tee output
cat >expected <<'TEXT'
const Thing = z.object({
  kind: z.string(),
  pair: z.array(z.any()),
  count: z.union([z.number(), z.null()]),
  big: z.number().int(),
});
export const zThing = z.object({
    kind: z.literal('thing'),
    pair: z.tuple([z.string(), z.number()]),
    count: z.int().nullable(),
    big: z.coerce.bigint()…
});
    big: number;
TEXT
diff output expected
