// Calls demo/signed-server.mjs by a fetch that signs: node demo/signed-fetch.mjs [http://localhost:3000]
import { signedFetch } from 'waypost';
import { secret } from './secret.mjs';

const origin = process.argv[2] ?? `http://localhost:${process.env.PORT || 3000}`;

// Configured as the server is. From here on it is used as fetch is.
const send = signedFetch({ secret, algorithm: 'sha512', headerName: 'X-Signature' });

async function show(title, response) {
  console.log(`${title}: ${response.status} ${await response.text()}`);
}

await show('GET', await send(`${origin}/api/users?page=2`));
await show('JSON', await send(`${origin}/api/users`, {
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ name: 'grace' }),
}));
await show('form', await send(`${origin}/api/users`, { method: 'POST', body: new URLSearchParams({ name: 'edsger dijkstra' }) }));
await show('patch', await send(`${origin}/api/users`, { method: 'patch' }));
