/** express-list-endpoints: what is registered, read off the stacks of routers. */
const assert = require('node:assert/strict');
const express = require('express');
const listEndpoints = require('express-list-endpoints');

module.exports = async () => {
  const list = typeof listEndpoints === 'function' ? listEndpoints : listEndpoints.default;
  const app = express();
  app.get('/', function home(req, res) {
    res.send('');
  });
  app.route('/notes').get((req, res) => res.send('')).post(function add(req, res) {
    res.send('');
  });
  const inner = express.Router();
  inner.delete('/:id', (req, res) => res.send(''));
  const router = express.Router();
  router.get('/:id', (req, res) => res.send(''));
  router.use('/inner', inner);
  app.use('/users', router);
  // It looks for the stack of Express 4's application; that of Express 5 is its router's.
  const found = list(app.router ?? app);
  assert.ok(found.some(({ path, methods }) => path === '/notes' && methods.includes('POST')), JSON.stringify(found));
  // Where routers are mounted it reads off what layers of Express 4 had: here they have it, in Express 5 not.
  assert.ok(found.some(({ path, methods }) => /^(?:\/users)?\/:id$/.test(path) && methods.includes('GET')), JSON.stringify(found));
  return found.filter(({ path }) => !path.includes(':id') && !path.includes('inner'));
};
