/** newrelic, told that it is connected: what it would send is read from its transactions. */
process.env.NEW_RELIC_LICENSE_KEY = '0'.repeat(40);
process.env.NEW_RELIC_APP_NAME = 'service';
process.env.NEW_RELIC_NO_CONFIG_FILE = 'true';
process.env.NEW_RELIC_LOG_ENABLED = 'false';
process.env.NEW_RELIC_HOST = '127.0.0.1';

module.exports = async (bridge) => {
  const newrelic = require('newrelic');
  const [requests, errors] = [[], []];
  newrelic.agent.setState('started');
  newrelic.agent.on('transactionFinished', (transaction) => {
    if (!transaction.isWeb()) return;
    const name = transaction.getFullName();
    requests.push(name);
    errors.push(...[...transaction.exceptions, ...transaction.userErrors].map(({ error }) => `${name}: ${error.message}`));
  });
  bridge();
  const statuses = await require('../service.cjs').run(() => undefined);
  return { statuses, requests, errors };
};
