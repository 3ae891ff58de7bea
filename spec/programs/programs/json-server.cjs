/** json-server with its rewriter, its defaults and a database in memory. */
const jsonServer = require('json-server');
const { ask, check, listen } = require('../support.cjs');

module.exports = async () => {
  const app = jsonServer.create();
  app.use(jsonServer.defaults({ logger: false }));
  app.use(jsonServer.rewriter({ '/api/*': '/$1', '/blog/:resource/:id/show': '/:resource/:id', '/articles\\?id=:id': '/posts/:id' }));
  app.use(jsonServer.bodyParser);
  app.get('/echo', (req, res) => res.jsonp(req.query));
  const router = jsonServer.router({ posts: [{ id: 1, title: 'one', userId: 1 }, { id: 2, title: 'two', userId: 1 }], users: [{ id: 1, name: 'Ada' }] });
  router.render = (req, res) => res.jsonp({ body: res.locals.data });
  app.use(router);
  const port = await listen(app);
  return {
    all: check(await ask(port, '/posts'), 200, 'two'),
    rewritten: check(await ask(port, '/api/posts/1'), 200, 'one'),
    shown: check(await ask(port, '/blog/posts/2/show'), 200, 'two'),
    byQuery: check(await ask(port, '/articles?id=2'), 200, 'two'),
    sorted: check(await ask(port, '/posts?_sort=id&_order=desc&_limit=1'), 200, 'two'),
    embedded: check(await ask(port, '/users/1?_embed=posts'), 200, 'title'),
    added: check(await ask(port, '/posts', { json: { title: 'three' } }), 201, 'three'),
    changed: check(await ask(port, '/posts/3', { json: { title: 'four' }, method: 'PATCH' }), 200, 'four'),
    removed: check(await ask(port, '/posts/3', { method: 'DELETE' }), 200),
    missing: check(await ask(port, '/posts/3'), 404),
    echo: check(await ask(port, '/echo?a=1'), 200, '"a"'),
    index: (await ask(port, '/')).status,
  };
};
