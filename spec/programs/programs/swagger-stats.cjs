/** swagger-stats: counts requests by their routes, shows its page, its figures and those for Prometheus. */
const assert = require('node:assert/strict');
const express = require('express');
const swStats = require('swagger-stats');
const { ask, check, listen } = require('../support.cjs');

const swaggerSpec = { swagger: '2.0', info: { title: 'pets', version: '1' }, basePath: '/', paths: { '/pets/{id}': { get: { responses: { 200: { description: 'a pet' } } } } } };

module.exports = async () => {
  const app = express();
  app.use(swStats.getMiddleware({ swaggerSpec, name: 'pets' }));
  app.get('/pets/:id', (req, res) => res.json({ id: req.params.id }));
  const router = express.Router();
  router.get('/:year', (req, res) => res.send('fine'));
  app.use('/reports', router);
  const port = await listen(app);
  await ask(port, '/pets/1');
  await ask(port, '/pets/2');
  await ask(port, '/reports/2026');
  await ask(port, '/nowhere');
  const stats = JSON.parse(check(await ask(port, '/swagger-stats/stats?fields=apistats'), 200).text);
  const { all } = JSON.parse((await ask(port, '/swagger-stats/stats')).text);
  const counts = Object.fromEntries(Object.entries(stats.apistats).map(([path, methods]) => [path, methods.GET.requests]));
  assert.equal(counts['/pets/{id}'], 2);
  return {
    counts,
    all: [all.requests, all.responses, all.errors],
    page: check(await ask(port, '/swagger-stats/'), 200).type,
    metrics: check(await ask(port, '/swagger-stats/metrics'), 200, 'api_all_request_total').type,
  };
};
