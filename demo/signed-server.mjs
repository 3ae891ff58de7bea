// A server whose routes beneath /api ask for a signature: node demo/signed-server.mjs
// Its client: node demo/signed-client.mjs
import { createServer } from 'waypost';
import { secret } from './secret.mjs';

const app = createServer({
  security: {
    requestSignature: { secret, algorithm: 'sha512', maxAge: 60_000, headerName: 'X-Signature' },
    routeConfig: {
      requestSignature: { includeRoutes: ['/api/**'], excludeRoutes: [{ path: '/api/status', methods: ['GET'] }] },
    },
  },
});

app.get('/api/status', (req, res) => res.json({ up: true }));
app.get('/api/users', (req, res) => res.json({ users: ['ada', 'alan'], page: req.query.page ?? '1' }));
app.post('/api/users', (req, res) => res.status(201).json({ created: req.body }));

const server = await app.start();
console.log(`Listening on http://localhost:${server.address().port}`);
