/** What of waypost is loaded when first used, used once. */
exports.report = async function report({ createServer, json, signRequest, static: files, XJsonResponseHandler }) {
  const secret = 'an example secret, 32 bytes or more';
  const app = createServer({ logging: { level: 'silent' }, security: { requestSignature: { version: 2, secret }, routeConfig: { requestSignature: { includeRoutes: ['/signed'] } } } });
  app.use('/files', files('/'));
  app.post('/parsed', json({ limit: '1kb' }), (req, res) => res.json(req.body));
  app.get('/signed', (req, res) => res.cookie('a', '1').vary('Accept').json(req.query));
  app.set('query parser', 'extended');
  const server = await app.start(0, '127.0.0.1');
  const origin = `http://127.0.0.1:${server.address().port}`;
  const signed = await fetch(`${origin}/signed?a[b]=1`, { headers: signRequest({ version: 2, secret, method: 'GET', url: '/signed?a[b]=1' }) });
  const parsed = await fetch(`${origin}/parsed`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' });
  const answers = [await signed.text(), await parsed.text(), (await fetch(`${origin}/files/no-such-file`)).status, (await app.inject('/none')).statusCode];
  await app.close({ timeout: 0 });
  return { answers, text: XJsonResponseHandler.stringify({ a: 1n }) };
};
