/** An application behind an adapter for Lambda: API Gateway's events to requests, answers to results. */
const assert = require('node:assert/strict');
const express = require('express');

exports.application = () => {
  const app = express();
  app.use(express.json());
  app.get('/hello/:name', (req, res) => res.cookie('a', 'b').json({ hello: req.params.name, query: req.query, host: req.hostname }));
  app.post('/notes', (req, res) => res.status(201).json({ got: req.body }));
  app.get('/bytes', (req, res) => res.type('image/png').send(Buffer.from([137, 80, 78, 71])));
  app.get('/redirect', (req, res) => res.redirect('/hello/Ada'));
  app.get('/broken', () => {
    throw new Error('broken');
  });
  app.use((error, req, res, _next) => res.status(500).json({ error: error.message }));
  return app;
};

function eventOf(method, path, body, query) {
  const headers = { host: 'api.example.com', 'content-type': 'application/json', ...(body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }) };
  return {
    resource: '/{proxy+}', path, httpMethod: method, headers, multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    queryStringParameters: query ?? null, multiValueQueryStringParameters: query && Object.fromEntries(Object.entries(query).map(([name, value]) => [name, [value]])),
    pathParameters: { proxy: path.slice(1) }, stageVariables: null, body: body ?? null, isBase64Encoded: false,
    requestContext: { accountId: '1', apiId: 'a', stage: 'prod', httpMethod: method, path, resourcePath: '/{proxy+}', identity: { sourceIp: '203.0.113.7' }, requestId: 'r' },
  };
}

/** @param handle Gives an event to the adapter, and answers its result. */
exports.results = async (handle) => {
  const found = [];
  for (const [status, ...event] of [
    [200, 'GET', '/hello/Ada', undefined, { a: '1' }],
    [201, 'POST', '/notes', '{"text":"hi"}'],
    [200, 'GET', '/bytes'],
    [302, 'GET', '/redirect'],
    [500, 'GET', '/broken'],
    [404, 'GET', '/nowhere'],
  ]) {
    const result = await handle(eventOf(...event));
    assert.equal(result.statusCode, status, JSON.stringify(result));
    const fields = Object.entries({ ...result.multiValueHeaders, ...result.headers }).map(([name, value]) => [name.toLowerCase(), value]);
    const headers = Object.fromEntries(fields.filter(([name]) => name !== 'date' && name !== 'x-powered-by'));
    found.push(status === 404 ? status : { status, headers, body: result.body, base64: result.isBase64Encoded });
  }
  return found;
};
