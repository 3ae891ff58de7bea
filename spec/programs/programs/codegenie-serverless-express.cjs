const serverlessExpress = require('@codegenie/serverless-express');
const { application, results } = require('../lambda.cjs');

module.exports = () => {
  const handler = serverlessExpress({ app: application() });
  return results((event) => handler(event, {}));
};
