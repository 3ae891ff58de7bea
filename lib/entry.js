'use strict';

const all = require('../dist/index.js');

module.exports = function waypost(options) {
  return all.createServer(options);
};
// One by one, so that Node finds them for `import { Router } from 'waypost'`.
module.exports.ERRORS = all.ERRORS;
module.exports.HttpError = all.HttpError;
module.exports.MemoryReplayStore = all.MemoryReplayStore;
module.exports.RedisReplayStore = all.RedisReplayStore;
module.exports.Request = all.Request;
module.exports.Response = all.Response;
module.exports.Router = all.Router;
module.exports.ValidationError = all.ValidationError;
module.exports.XJsonResponseHandler = all.XJsonResponseHandler;
module.exports.createServer = all.createServer;
module.exports.express = all.express;
module.exports.json = all.json;
module.exports.raw = all.raw;
module.exports.signRequest = all.signRequest;
module.exports.signatureDirectory = all.signatureDirectory;
module.exports.signedFetch = all.signedFetch;
module.exports.static = all.static;
module.exports.text = all.text;
module.exports.urlencoded = all.urlencoded;
module.exports.validate = all.validate;
