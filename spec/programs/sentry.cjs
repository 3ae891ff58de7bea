/** Sentry: an error with the route it came from, and requests that are named by routes. */
const assert = require('node:assert/strict');
const { ask, check, listen } = require('./support.cjs');

/** @param Sentry The package, before express is loaded. */
module.exports = async (Sentry) => {
  const sent = [];
  Sentry.init({
    dsn: 'http://key@127.0.0.1/1',
    tracesSampleRate: 1,
    transport: () => ({ send: async (envelope) => (sent.push(...envelope[1].map(([, item]) => item)), {}), flush: async () => true }),
  });
  const express = require('express');
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
  // Of 10 the spans of a request stand in its transaction; 11 sends them as they end.
  const spans = sent.flatMap((item) => (item.type === 'transaction' ? [{ name: item.transaction, isServer: true }, ...item.spans.map(({ description, data }) => ({ name: description, type: data['express.type'] }))] : (item.items ?? []).map(({ name, attributes }) => ({ name, type: attributes['express.type']?.value, isServer: attributes['sentry.op']?.value === 'http.server' }))));
  found.spans = spans.map(({ name, type }) => `${name} ${type}`).filter((span) => !span.includes('127.0.0.1')).sort();
  assert.deepEqual(spans.filter(({ isServer }) => isServer).map(({ name }) => name).sort(), ['GET /reports/:year', 'GET /users/:id']);
  return found;
};
