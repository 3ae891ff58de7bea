'use strict';

const { express } = require('../../dist/index.js');

module.exports = express;
// One by one, so that Node finds them for `import { Router } from 'waypost/express'`.
module.exports.Route = express.Route;
module.exports.Router = express.Router;
module.exports.application = express.application;
module.exports.json = express.json;
module.exports.raw = express.raw;
module.exports.request = express.request;
module.exports.response = express.response;
module.exports.static = express.static;
module.exports.text = express.text;
module.exports.urlencoded = express.urlencoded;
module.exports.validate = express.validate;
