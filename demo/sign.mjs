// Prints the two headers that sign a request, for `curl -H @-`:
//   node demo/sign.mjs METHOD URL [BODY]
import { signRequest } from 'waypost';
import { secret } from './secret.mjs';

const [method, url, body] = process.argv.slice(2);

if (url === undefined) {
  console.error('Usage: node demo/sign.mjs METHOD URL [BODY]');
  process.exitCode = 2;
} else {
  for (const [name, value] of Object.entries(signRequest({ secret, method, url, body }))) console.log(`${name}: ${value}`);
}
