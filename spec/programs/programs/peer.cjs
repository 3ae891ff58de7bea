/** ExpressPeerServer: ids by HTTP, a peer by WebSocket, its events. */
const http = require('node:http');
const express = require('express');
const { ExpressPeerServer } = require('peer');
const { WebSocket } = require('ws');
const { ask, check, listen } = require('../support.cjs');

module.exports = async () => {
  const app = express();
  const server = http.createServer(app);
  const peers = ExpressPeerServer(server, { path: '/', allow_discovery: true, generateClientId: () => 'an-id' });
  app.get('/', (req, res) => res.send('page'));
  app.use('/peers', peers);
  const port = await listen(server);
  const connected = new Promise((resolve) => peers.once('connection', (client) => resolve(client.getId())));
  const socket = new WebSocket(`ws://127.0.0.1:${port}/peers/peerjs?key=peerjs&id=ada&token=t`);
  const first = await new Promise((resolve, reject) => socket.once('message', (text) => resolve(String(text))).once('error', reject).once('close', () => reject(new Error('closed'))));
  return {
    page: check(await ask(port, '/'), 200, 'page'),
    about: check(await ask(port, '/peers/'), 200, 'PeerJS'),
    id: check(await ask(port, '/peers/peerjs/id'), 200, 'an-id').text,
    first,
    connected: await connected,
    peers: check(await ask(port, '/peers/peerjs/peers'), 200, 'ada').text,
  };
};
