// HTTPS with a self-signed certificate: node demo/https.mjs
// Key and certificate in demo/tls are public, so they protect nothing: they are for this demo only.
import { readFileSync } from 'node:fs';
import { createServer } from 'waypost';

const app = createServer({
  server: {
    https: {
      key: readFileSync(new URL('tls/demo-only-key.pem', import.meta.url)),
      cert: readFileSync(new URL('tls/demo-only-cert.pem', import.meta.url)),
    },
  },
});

app.get('/', (req, res) => res.json({ secure: req.secure, protocol: req.protocol }));

const server = await app.start();
console.log(`Listening on https://localhost:${server.address().port}`);
