/** vhost: applications and middleware by the host that is asked for. */
const express = require('express');
const vhost = require('vhost');
const { askHost, check, listen } = require('../support.cjs');

module.exports = async () => {
  const main = express();
  main.get('/', (req, res) => res.send('main'));
  main.get('/:sub', (req, res) => res.send(`asked for ${req.params.sub}`));
  const redirect = express();
  redirect.use((req, res) => res.json({ sub: req.vhost[0], host: req.vhost.hostname }));
  const router = express.Router();
  router.get('/', (req, res) => res.send('router'));
  const app = express();
  app.use(vhost('*.example.com', redirect));
  app.use(vhost('example.com', main));
  app.use(vhost('router.local', router));
  const port = await listen(app);
  return {
    main: check(await askHost(port, 'example.com:3000', '/'), 200, 'main'),
    sub: check(await askHost(port, 'example.com', '/foo'), 200, 'foo'),
    wild: check(await askHost(port, 'foo.example.com', '/any'), 200, '"sub":"foo"'),
    router: check(await askHost(port, 'router.local', '/'), 200, 'router'),
    other: (await askHost(port, 'other.org', '/')).status,
  };
};
