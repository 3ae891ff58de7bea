/** parse-server as far as it goes without a database: its application, mounted, its keys and its state. */
const { tmpdir } = require('node:os');
const express = require('express');
const { ask, check, listen } = require('../support.cjs');

module.exports = async () => {
  // Its log has a folder before it has options.
  process.env.PARSE_SERVER_LOGS_FOLDER = tmpdir();
  const { ParseServer } = require('parse-server');
  const parse = new ParseServer({ databaseURI: 'mongodb://127.0.0.1:1/none', appId: 'app', masterKey: 'key', restAPIKey: 'rest', serverURL: 'http://127.0.0.1/parse', silent: true, cloud: () => undefined });
  const app = express();
  app.get('/', (req, res) => res.send('page'));
  app.use('/parse', parse.app);
  const port = await listen(app);
  return {
    page: check(await ask(port, '/'), 200, 'page'),
    health: await ask(port, '/parse/health'),
    refused: check(await ask(port, '/parse/classes/Note'), 403, 'unauthorized'),
    preflight: (await ask(port, '/parse/classes/Note', { method: 'OPTIONS' })).status,
  };
};
