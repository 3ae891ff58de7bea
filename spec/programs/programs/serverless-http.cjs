const serverless = require('serverless-http');
const { application, results } = require('../lambda.cjs');

module.exports = () => {
  const handler = serverless(application(), { binary: ['image/*'] });
  return results((event) => handler(event, {}));
};
