/** celebrate: parameters, queries, bodies and headers against schemas. */
const { celebrate, errors, Joi, Segments } = require('celebrate');
const express = require('express');
const { ask, check, listen } = require('../support.cjs');

module.exports = async () => {
  const app = express();
  app.use(express.json());
  app.get('/notes/:id', celebrate({ [Segments.PARAMS]: { id: Joi.number().required() }, [Segments.QUERY]: { page: Joi.number().default(1) } }), (req, res) => res.json([req.params, req.query]));
  app.post('/notes', celebrate({ [Segments.BODY]: Joi.object({ text: Joi.string().trim().required() }), [Segments.HEADERS]: Joi.object({ 'x-token': Joi.string() }).unknown() }), (req, res) => res.json(req.body));
  app.use(errors());
  const port = await listen(app);
  return {
    fine: check(await ask(port, '/notes/1?page=2'), 200),
    defaulted: check(await ask(port, '/notes/1'), 200),
    parameter: check(await ask(port, '/notes/x'), 400, 'must be a number'),
    query: check(await ask(port, '/notes/1?page=x'), 400, 'page'),
    body: check(await ask(port, '/notes', { json: { text: ' hi ' } }), 200, '"hi"'),
    missing: check(await ask(port, '/notes', { json: {} }), 400, 'text'),
  };
};
