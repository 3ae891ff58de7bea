// Calls demo/signed-server.mjs: node demo/signed-client.mjs [http://localhost:3000]
import { signRequest } from 'waypost';
import { secret } from './secret.mjs';

const origin = process.argv[2] ?? `http://localhost:${process.env.PORT || 3000}`;

/** As fetch, with the two headers added. The text that is signed is the text that is sent. */
async function signedFetch(url, { method = 'GET', headers, body } = {}) {
  const signature = signRequest({ secret, method, url, body, algorithm: 'sha512', headerName: 'X-Signature' });
  return fetch(url, { method, body, headers: { ...headers, ...signature } });
}

async function show(title, response) {
  console.log(`${title}: ${response.status} ${await response.text()}`);
}

const json = { 'Content-Type': 'application/json' };

await show('signed GET', await signedFetch(`${origin}/api/users?page=2`));
await show('signed POST', await signedFetch(`${origin}/api/users`, { method: 'POST', headers: json, body: JSON.stringify({ name: 'grace' }) }));
await show('unsigned GET', await fetch(`${origin}/api/users`));
await show('excluded GET', await fetch(`${origin}/api/status`));
