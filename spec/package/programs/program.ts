import {
  type Application, createServer, ERRORS, express as named, type Handler, HttpError, json, MemoryReplayStore, raw, RedisReplayStore, Request, Response, Router, signedFetch, signRequest,
  static as files, text, urlencoded, XJsonResponseHandler, type XJsonOptions,
} from 'waypost';
import waypost from 'waypost';
import express from 'waypost/express';

const secret = 'an example secret, 32 bytes or more';
const xJson: XJsonOptions = { enableStreaming: true };
const echo: Handler = (req, res) => {
  res.json(req.query);
};
const app: Application = createServer({ logging: { level: 'silent' }, security: { requestSignature: { version: 2, secret }, routeConfig: { requestSignature: { includeRoutes: ['/signed'] } } } });
app.use('/files', files('/'));
app.post('/parsed', json({ limit: '1kb' }), (req, res) => res.json(req.body));
app.get('/signed', echo);
app.get('/users/:id', (req, res) => {
  const id: string = req.params.id;
  // @ts-expect-error -- the path has no such parameter
  const other: string = req.params.other;
  res.xJson({ id, other }, xJson);
});
app.get('/headers', (req, res) => res.json(req.headers.host));
// @ts-expect-error -- a handler of Koa
app.get('/koa', (context: { status: number }, next: () => Promise<void>) => next());
const unset: string | undefined = process.env['NO_SUCH_VARIABLE'];
createServer({ env: unset, server: { host: unset, https: undefined } });
const unsigned = { secret, method: 'POST', url: '/', body: unset, keyId: unset };
app.set('query parser', 'extended');
const unchecked = express();
unchecked.post('/', (req, res) => res.json(req.body.anything));
const shown = [ERRORS, HttpError, MemoryReplayStore, raw, RedisReplayStore, Request, Response, signedFetch, text, urlencoded];

async function main(): Promise<void> {
  const server = await app.start(0, '127.0.0.1');
  const address = server.address();
  const origin = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  const signed = await fetch(`${origin}/signed?a[b]=1`, { headers: signRequest({ ...unsigned, version: 2, secret, method: 'GET', url: '/signed?a[b]=1' }) });
  const parsed = await fetch(`${origin}/parsed`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":1}' });
  const answers = [await signed.text(), await parsed.text(), (await fetch(`${origin}/files/no-such-file`)).status, (await app.inject('/none')).statusCode];
  await app.close({ timeout: 0 });
  console.log(JSON.stringify({
    names: Object.keys(waypost).filter((name) => name !== 'default' && name !== 'module.exports' && name !== '__esModule').sort(),
    oneState: shown.every((each) => each !== undefined) && (express as unknown) === named && (express.Router as unknown) === Router,
    answers,
    text: XJsonResponseHandler.stringify({ a: 1n }),
  }));
}

void main();
