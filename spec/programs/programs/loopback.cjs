/** LoopBack 4: a route by its specification, an Express router beside it, static files, its own errors. */
const { mkdtempSync, writeFileSync } = require('node:fs');
const { createRequire } = require('node:module');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { RestApplication } = require('@loopback/rest');
const { ask, check } = require('../support.cjs');

module.exports = async () => {
  const express = createRequire(require.resolve('@loopback/rest'))('express');
  const files = mkdtempSync(join(tmpdir(), 'waypost-loopback-'));
  writeFileSync(join(files, 'a.txt'), 'a file');
  const app = new RestApplication({ rest: { port: 0, host: '127.0.0.1' } });
  const response = { responses: { 200: { description: 'a greeting', content: { 'text/plain': { schema: { type: 'string' } } } } } };
  const name = { name: 'name', in: 'path', required: true, schema: { type: 'string' } };
  app.route('get', '/greet/{name}', { ...response, parameters: [name] }, (given) => `Hello ${given}`);
  app.route('post', '/notes', { ...response, requestBody: { content: { 'application/json': { schema: { type: 'object', required: ['text'], properties: { text: { type: 'string' } } } } } } }, (note) => note);
  const router = express.Router();
  router.get('/:id', (req, res) => res.json(req.params));
  app.mountExpressRouter('/plain', router);
  app.static('/files', files);
  await app.start();
  const { port } = app.restServer.httpServer.address;
  const found = {
    greeting: check(await ask(port, '/greet/Ada'), 200, 'Hello Ada'),
    added: check(await ask(port, '/notes', { json: { text: 'hi' } }), 200, 'hi'),
    refused: check(await ask(port, '/notes', { json: {} }), 422, 'text'),
    plain: check(await ask(port, '/plain/7'), 200, '7'),
    // Its own Express is 4, which writes the charset otherwise.
    file: check(await ask(port, '/files/a.txt'), 200, 'a file').text,
    document: check(await ask(port, '/openapi.json'), 200, '/greet/{name}').type,
    missing: check(await ask(port, '/none'), 404).type,
  };
  await app.stop();
  return found;
};
