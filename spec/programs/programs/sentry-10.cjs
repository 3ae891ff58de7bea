module.exports = () => require('../sentry.cjs')(require('sentry-10'));
