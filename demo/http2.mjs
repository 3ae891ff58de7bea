// HTTP/2 over TLS, beside HTTP/1.1: node demo/http2.mjs
// Then: curl --insecure --http2 https://localhost:3000/ and curl --insecure --http1.1 https://localhost:3000/
// Key and certificate in demo/tls are public, so they protect nothing: they are for this demo only.
import { readFileSync } from 'node:fs';
import { createServer } from 'waypost';

const app = createServer({
  server: {
    http2: true,
    https: {
      key: readFileSync(new URL('tls/demo-only-key.pem', import.meta.url)),
      cert: readFileSync(new URL('tls/demo-only-cert.pem', import.meta.url)),
    },
  },
});

app.get('/', (req, res) => res.json({ version: req.httpVersion, host: req.host, secure: req.secure }));

const server = await app.start();
console.log(`Listening on https://localhost:${server.address().port}`);
