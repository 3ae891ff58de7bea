// Takes the webhooks of four services: node demo/webhooks.mjs
// To play GitHub with openssl:
//   body='{"type":"order.paid"}'
//   digest=$(printf '%s' "$body" | openssl dgst -sha256 -hmac "$(cat demo/secret.txt)" -r | cut -d ' ' -f 1)
//   curl -i -H "X-Hub-Signature-256: sha256=$digest" -H 'Content-Type: application/json' -d "$body" http://localhost:3000/hooks/github
import { createServer } from 'waypost';
import { secret } from './secret.mjs';

const app = createServer({
  security: {
    // A secret for each, as the service shows it. These are made from one only for the demo.
    webhooks: [
      { path: '/hooks/standard', preset: 'standard', secret: `whsec_${Buffer.from(secret).toString('base64')}` },
      { path: '/hooks/stripe', preset: 'stripe', secret: `whsec_${secret}` },
      { path: '/hooks/github', preset: 'github', secret },
      { path: '/hooks/slack', preset: 'slack', secret },
    ],
  },
});

// Answer at once and work later: a service that waits too long sends the same event again.
app.post('/hooks/standard', (req, res) => {
  // What is sent again keeps its id: keep the ids that were handled.
  console.log(`${req.headers['webhook-id']}: ${req.body.type}`);
  res.end();
});

app.post('/hooks/stripe', (req, res) => {
  console.log(`Stripe: ${req.body.type}`);
  res.end();
});

app.post('/hooks/github', (req, res) => {
  // GitHub signs the body alone, so only what stands in it can be believed.
  console.log(`GitHub: ${req.body.type}`);
  res.end();
});

app.post('/hooks/slack', (req, res) => {
  res.json({ text: `You said: ${req.body.text}` });
});

const server = await app.start();
console.log(`Listening on http://localhost:${server.address().port}`);
