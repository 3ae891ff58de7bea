/** express-session with connect-redis: a session that outlives the application. */
const { RedisStore } = require('connect-redis');
const express = require('express');
const session = require('express-session');
const { createClient } = require('redis');
const { check, listen, redis } = require('../support.cjs');

module.exports = async () => {
  const client = await createClient({ socket: { path: await redis() } }).connect();
  const start = () => {
    const app = express();
    app.use(session({ store: new RedisStore({ client }), secret: 'secret', resave: false, saveUninitialized: false }));
    app.get('/', (req, res) => {
      req.session.views = (req.session.views ?? 0) + 1;
      res.json({ views: req.session.views });
    });
    app.get('/leave', (req, res, next) => req.session.destroy((error) => (error ? next(error) : res.send('left'))));
    return listen(app);
  };
  const [one, two] = [await start(), await start()];
  let cookie = '';
  const ask = async (port, path) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { cookie } });
    cookie = answer.headers.getSetCookie()[0]?.split(';')[0] ?? cookie;
    return { status: answer.status, text: await answer.text() };
  };
  const found = [check(await ask(one, '/'), 200, '1'), check(await ask(two, '/'), 200, '2'), (await client.keys('sess:*')).length, check(await ask(one, '/leave'), 200), (await client.keys('sess:*')).length, check(await ask(two, '/'), 200, '1')];
  await client.close();
  return found;
};
