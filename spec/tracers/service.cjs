/** The service that every tracer is tried with, and the requests that it is sent. */
const { createServer, Router } = require('../../dist/index.js');

/** @param query Makes a span in a handler, as the instrumentation of a database would. */
exports.run = async (query) => {
  const app = createServer({ logging: { level: 'silent' } });
  app.use(function counted(_req, _res, next) {
    next();
  });
  const shop = Router();
  shop.get('/orders/:id', async function order(req, res) {
    await new Promise((resolve) => setTimeout(resolve, 5));
    query();
    res.json(req.params);
  });
  shop.get('/fails', async function fails() {
    await new Promise((resolve) => setTimeout(resolve, 5));
    throw new Error('out of stock');
  });
  app.use('/shops/:shop', shop);
  const server = await app.start(0, '127.0.0.1');
  const { port } = server.address();
  const statuses = [];
  for (const path of ['/shops/7/orders/3', '/shops/7/fails', '/nowhere']) {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    await answer.text();
    statuses.push(answer.status);
  }
  await app.close();
  return statuses;
};
