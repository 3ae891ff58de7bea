/**
 * Preloaded with `-r` by run.ts: who asks for the main module of a checkout of Express, of its router or of serve-static gets waypost's.
 * The files beneath its lib/ stay the checkout's: what tests them by their own names says nothing of waypost, nor of its main module.
 */
const Module = require('node:module');
const { resolve } = require('node:path');

const { SUITE_CHECKOUT, SUITE_PACKAGE } = process.env;
const MAIN = new Set(['index.js', 'lib/express.js'].map((file) => resolve(SUITE_CHECKOUT, file)));
const SUBSTITUTES = { express: ({ express }) => express, router: ({ express }) => express.Router, 'serve-static': ({ express }) => express.static };

const load = Module._load;
let substitute;

Module._load = function (request, parent, isMain) {
  if (!request.startsWith('.') || !MAIN.has(Module._resolveFilename(request, parent, isMain))) return load.call(this, request, parent, isMain);
  substitute ??= SUBSTITUTES[SUITE_PACKAGE](load.call(this, resolve(module.path, '../../dist/index.js'), module, false));
  return substitute;
};
