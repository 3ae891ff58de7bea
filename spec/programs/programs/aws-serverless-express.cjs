const { createServer, proxy } = require('aws-serverless-express');
const { application, results } = require('../lambda.cjs');

module.exports = () => {
  const server = createServer(application(), undefined, ['image/png']);
  return results((event) => proxy(server, event, {}, 'PROMISE').promise);
};
