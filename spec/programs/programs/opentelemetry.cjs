/** OpenTelemetry's instrumentation: the route in the request's span, and a span for each handler. */
const assert = require('node:assert/strict');
const { registerInstrumentations } = require('@opentelemetry/instrumentation');
const { ExpressInstrumentation } = require('@opentelemetry/instrumentation-express');
const { HttpInstrumentation } = require('@opentelemetry/instrumentation-http');
const { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor } = require('@opentelemetry/sdk-trace-node');

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();
registerInstrumentations({ instrumentations: [new HttpInstrumentation(), new ExpressInstrumentation()] });

const express = require('express');
const http = require('node:http');
const { ask, check, listen } = require('../support.cjs');

module.exports = async () => {
  const app = express();
  app.use(function first(req, res, next) {
    next();
  });
  app.get('/users/:id', function user(req, res) {
    res.json({ id: req.params.id });
  });
  const router = express.Router();
  router.get('/:year', (req, res) => res.send('fine'));
  app.use('/reports', router);
  const port = await listen(http.createServer(app));
  check(await ask(port, '/users/1'), 200);
  check(await ask(port, '/reports/2026'), 200);
  await provider.forceFlush();
  const spans = exporter.getFinishedSpans().map(({ name, attributes }) => [name, attributes['http.route'], attributes['express.type']]);
  const routes = spans.map(([name]) => name).filter((name) => name.startsWith('GET /'));
  assert.deepEqual(routes.sort(), ['GET /reports/:year', 'GET /users/:id']);
  return spans.sort();
};
