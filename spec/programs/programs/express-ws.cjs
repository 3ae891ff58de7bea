/** express-ws: WebSockets as routes of an application and of a router, with middleware before them. */
const express = require('express');
const expressWs = require('express-ws');
const { WebSocket } = require('ws');
const { ask, check } = require('../support.cjs');

function talk(url) {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url);
    socket.once('open', () => socket.send('hello'));
    socket.once('message', (text) => {
      socket.close();
      resolve(String(text));
    });
    socket.once('error', reject);
    socket.once('close', (code) => resolve(`closed with ${code}`));
  });
}

module.exports = async () => {
  const app = express();
  const { applyTo, getWss } = expressWs(app);
  app.use((req, res, next) => {
    req.seen = 'seen';
    next();
  });
  app.get('/', (req, res) => res.send(`plain ${req.seen}`));
  app.ws('/echo/:name', (socket, req) => socket.on('message', (text) => socket.send(`${text} ${req.params.name} ${req.seen}`)));
  const router = express.Router();
  applyTo(router);
  router.ws('/inner', (socket, req) => socket.on('message', (text) => socket.send(`${text} inside ${req.baseUrl}`)));
  app.use('/router', router);
  const server = await new Promise((resolve) => {
    const started = app.listen(0, '127.0.0.1', () => resolve(started));
  });
  const { port } = server.address();
  return {
    plain: check(await ask(port, '/'), 200, 'plain seen'),
    echo: await talk(`ws://127.0.0.1:${port}/echo/Ada`),
    inner: await talk(`ws://127.0.0.1:${port}/router/inner`),
    nowhere: await talk(`ws://127.0.0.1:${port}/nowhere`).catch((error) => error.message),
    clients: typeof getWss().clients.size,
  };
};
