/** Vite in middleware mode: its client, modules and the page as it transforms them. */
const { mkdtempSync, readFileSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const express = require('express');
const { ask, check, listen } = require('../support.cjs');

module.exports = async () => {
  const { createServer } = await import('vite');
  const root = mkdtempSync(join(tmpdir(), 'waypost-vite-'));
  writeFileSync(join(root, 'index.html'), '<p>page</p><script type="module" src="/main.ts"></script>');
  writeFileSync(join(root, 'main.ts'), 'const n: number = 42;\nconsole.log(n);\n');
  const vite = await createServer({ root, configFile: false, logLevel: 'error', appType: 'custom', server: { middlewareMode: true, hmr: false, ws: false } });
  const app = express();
  app.get('/api', (req, res) => res.json({ api: true }));
  app.use(vite.middlewares);
  app.use('/{*path}', async (req, res) => {
    const page = await vite.transformIndexHtml(req.originalUrl, readFileSync(join(root, 'index.html'), 'utf8'));
    res.type('html').send(page);
  });
  const port = await listen(app);
  const found = {
    api: check(await ask(port, '/api'), 200),
    client: check(await ask(port, '/@vite/client'), 200).type,
    script: check(await ask(port, '/main.ts'), 200, 'const n = 42').type,
    page: check(await ask(port, '/any/page'), 200, '/@vite/client'),
    missing: (await ask(port, '/none.ts')).status,
  };
  await vite.close();
  return found;
};
