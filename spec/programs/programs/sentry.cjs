/** Sentry: an error with the route it came from, and transactions that are named by routes. */
const assert = require('node:assert/strict');
const Sentry = require('@sentry/node');

const sent = [];
Sentry.init({
  dsn: 'http://key@127.0.0.1/1',
  tracesSampleRate: 1,
  transport: () => ({ send: async (envelope) => (sent.push(...envelope[1].map(([, item]) => item)), {}), flush: async () => true }),
});

const express = require('express');
const { ask, check, listen } = require('../support.cjs');

module.exports = async () => {
  const app = express();
  app.get('/users/:id', (req, res) => res.json({ id: req.params.id }));
  const router = express.Router();
  router.get('/:year', (req) => {
    throw new Error(`no report of ${req.params.year}`);
  });
  app.use('/reports', router);
  Sentry.setupExpressErrorHandler(app);
  app.use((error, req, res, _next) => res.status(500).json({ error: error.message, id: typeof res.sentry }));
  const port = await listen(app);
  const found = { fine: check(await ask(port, '/users/1'), 200), failed: check(await ask(port, '/reports/2026'), 500, 'no report') };
  await Sentry.flush(2000);
  found.errors = sent.filter((item) => item.exception).map((item) => [item.transaction, item.exception.values[0].value]);
  const spans = sent.flatMap((item) => item.items ?? []);
  found.spans = spans.map(({ name, attributes }) => [name, attributes['http.route']?.value, attributes['express.type']?.value]).filter(([name]) => !name.includes('127.0.0.1')).sort();
  const segments = spans.filter((span) => span.is_segment && span.attributes['sentry.op']?.value === 'http.server').map(({ name }) => name);
  assert.deepEqual(segments.sort(), ['GET /reports/:year', 'GET /users/:id']);
  return found;
};
