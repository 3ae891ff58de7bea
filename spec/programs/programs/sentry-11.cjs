module.exports = () => require('../sentry.cjs')(require('@sentry/node'));
