/** A custom server of Next.js: pages, an API route and its assets beside routes of the server's own. */
const { join } = require('node:path');
const express = require('express');
const next = require('next');
const { ask, check, listen } = require('../support.cjs');

module.exports = async () => {
  const pages = next({ dev: true, dir: join(module.path, '../next-app'), quiet: true });
  await pages.prepare();
  const handle = pages.getRequestHandler();
  const app = express();
  app.use(express.json());
  app.get('/own/:id', (req, res) => res.json(req.params));
  app.all('/{*path}', (req, res) => handle(req, res));
  const port = await listen(app);
  const page = check(await ask(port, '/notes/7?a=1'), 200, 'note 7');
  const script = /src="(\/_next\/static\/[^"?]+\.js)/.exec(page.text)[1];
  return {
    own: check(await ask(port, '/own/1'), 200, '{"id":"1"}'),
    page: page.type,
    index: check(await ask(port, '/'), 200, 'index').type,
    script: check(await ask(port, script), 200).type,
    api: check(await ask(port, '/api/hello', { method: 'POST' }), 200, '{"hello":"POST"}'),
    missing: check(await ask(port, '/none'), 404).type,
  };
};
