/**
 * Preloaded with `-r` by run.ts: who asks for the main module of a checkout of Express, of its router or of serve-static gets waypost's.
 * The files beneath its lib/ stay the checkout's: what tests them by their own names says nothing of waypost, nor of its main module.
 * With SUITE_HTTP2 supertest asks over HTTP/2, and the servers that tests make by node:http are of HTTP/2.
 */
const Module = require('node:module');
const { resolve, sep } = require('node:path');

const http = require('node:http');
const http2 = require('node:http2');
const { SUITE_CHECKOUT, SUITE_HTTP2, SUITE_OWN, SUITE_PACKAGE } = process.env;
const MAIN = new Set(['index.js', 'lib/express.js'].map((file) => resolve(SUITE_CHECKOUT, file)));
const SUBSTITUTES = { express: ({ express }) => express, router: ({ express }) => express.Router, 'serve-static': ({ express }) => express.static };

const TESTS = resolve(SUITE_CHECKOUT, 'test') + sep;
const HTTP = { ...http, createServer: (...given) => http2.createServer(...given) };

const load = Module._load;
let substitute;
let supertest;

Module._load = function (request, parent, isMain) {
  if (SUITE_HTTP2 && parent?.filename.startsWith(TESTS)) {
    if (request === 'supertest') return (supertest ??= overHttp2(load.call(this, request, parent, isMain)));
    if (request === 'http' || request === 'node:http') return HTTP;
  }
  if (SUITE_OWN || !request.startsWith('.') || !MAIN.has(Module._resolveFilename(request, parent, isMain))) return load.call(this, request, parent, isMain);
  substitute ??= SUBSTITUTES[SUITE_PACKAGE](load.call(this, resolve(module.path, '../../dist/index.js'), module, false));
  return substitute;
};

/** Servers of HTTP/1.1, as of `app.listen`, are asked over HTTP/1.1. */
function overHttp2(given) {
  const options = (app) => (app instanceof http.Server ? {} : { http2: true });
  return Object.assign((app) => given(app, options(app)), given, { agent: (app) => given.agent(app, options(app)) });
}
