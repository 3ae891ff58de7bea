/** elastic-apm-node, and a server in the place of Elastic's that keeps what it is sent. */
const http = require('node:http');
const { createGunzip } = require('node:zlib');

module.exports = async (bridge) => {
  const sent = [];
  const intake = http.createServer((req, res) => {
    let text = '';
    const stream = req.headers['content-encoding'] === undefined ? req : req.pipe(createGunzip());
    stream.on('data', (chunk) => (text += chunk));
    stream.on('error', () => undefined);
    stream.on('end', () => {
      if (req.method === 'POST') sent.push(...text.split('\n').filter(Boolean).map((line) => JSON.parse(line)));
      res.writeHead(req.method === 'POST' ? 202 : 200, { 'Content-Type': 'application/json' }).end('{"version":"8.17.0"}');
    });
  });
  await new Promise((resolve) => intake.listen(0, '127.0.0.1', resolve));
  const apm = require('elastic-apm-node').start({
    serverUrl: `http://127.0.0.1:${intake.address().port}`, serviceName: 'service', centralConfig: false, cloudProvider: 'none', logLevel: 'off', metricsInterval: '0s', apiRequestTime: '1s',
  });
  bridge();
  const statuses = await require('../service.cjs').run(() => apm.startSpan('query')?.end());
  await apm.flush();
  // The agent has asked its server for its version, in this process.
  const requests = sent.flatMap(({ transaction }) => transaction ?? []).filter(({ context }) => context.request.url.pathname !== '/');
  return {
    statuses,
    requests: requests.map(({ name }) => name),
    errors: sent.flatMap(({ error }) => error ?? []).map(({ exception, transaction_id }) => `${requests.find(({ id }) => id === transaction_id)?.name}: ${exception.message}`),
  };
};
