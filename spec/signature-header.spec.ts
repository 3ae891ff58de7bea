import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server } from 'node:http2';
import { type Application, createServer } from 'waypost';
import { asking, FrameClient, headers } from './support/http2-frames';
import { portOf, Running } from './support/running';
import { Wire } from './support/wire';

const SECRET = 'the secret of these specs, 32 bytes or more';

// Of the fields that IANA registers for HTTP, those in common use, and some of no one's.
const NAMES = [
  'Accept', 'Accept-Charset', 'Accept-Encoding', 'Accept-Language', 'Age', 'Allow', 'Alt-Svc', 'Authorization', 'Cache-Control', 'Connection', 'Content-Digest',
  'Content-Disposition', 'Content-Encoding', 'Content-Language', 'Content-Length', 'Content-Location', 'Content-Range', 'Content-Type', 'Cookie', 'Date', 'Digest', 'DNT',
  'ETag', 'Expect', 'Expires', 'Forwarded', 'From', 'Host', 'If-Match', 'If-Modified-Since', 'If-None-Match', 'If-Range', 'If-Unmodified-Since', 'Keep-Alive',
  'Last-Modified', 'Link', 'Location', 'Max-Forwards', 'Origin', 'Pragma', 'Prefer', 'Priority', 'Proxy-Authenticate', 'Proxy-Authorization', 'Proxy-Connection', 'Range',
  'Referer', 'Retry-After', 'Sec-Fetch-Mode', 'Sec-WebSocket-Key', 'Server', 'Set-Cookie', 'Signature', 'Signature-Input', 'Strict-Transport-Security', 'TE', 'Trailer',
  'Transfer-Encoding', 'Upgrade', 'User-Agent', 'Vary', 'Via', 'WWW-Authenticate', 'Warning', 'X-Forwarded-For', 'X-Hub-Signature', 'X-Key-Id', 'X-Timestamp',
  'Svc-Request-Sig',
];

/** Values of fields that were sent twice over HTTP/2. Fields of connections do not arrive. */
async function seenByHttp2(): Promise<Map<string, unknown>> {
  const seen = new Map<string, unknown>();
  const server = createHttp2Server((req, res) => {
    const name = req.url.slice(1);
    seen.set(name, req.headers[name.toLowerCase()]);
    res.end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const client = await FrameClient.open(portOf(server));
  for (const [index, name] of NAMES.entries()) {
    client.send(headers(2 * index + 1, asking(`/${name}`, { fields: [[name.toLowerCase(), '1'], [name.toLowerCase(), '2']] })));
    await client.outcome(2 * index + 1);
  }
  client.destroy();
  server.close();
  return seen;
}

const running = new Running();
afterEach(() => running.close());

test.each(['headerName', 'timestampHeaderName', 'keyIdHeaderName'] as const)('%s may be a header only if Node joins all of its lines, by both protocols', async (option) => {
  const seen = new Map<string, unknown>();
  const port = await running.listen(createHttpServer((req, res) => {
    const name = String(req.url).slice(1);
    seen.set(name, req.headers[name.toLowerCase()]);
    res.end();
  }).on('upgrade', (_req, socket) => socket.destroy()));
  // Trailer and Expect ask for an answer of their own, and Upgrade makes another request of it.
  const acting = ['Expect', 'Trailer', 'Upgrade', 'Connection', 'Transfer-Encoding'];
  const taken: string[] = [];
  const http2 = await seenByHttp2();
  for (const name of NAMES) {
    const host = name === 'Host' ? '' : 'Host: a\r\n';
    await Wire.tell(port, `GET /${name} HTTP/1.1\r\n${host}${name}: 1\r\n${name}: 2\r\n${name === 'Connection' ? '' : 'Connection: close\r\n'}\r\n`.replace(/^(GET \/Connection[^]*: )2\r\n\r\n/, '$1close\r\n\r\n'));
    if (seen.get(name) !== '1, 2' || (http2.get(name) ?? '1, 2') !== '1, 2' || acting.includes(name)) taken.push(name);
  }
  expect(taken).toEqual(expect.arrayContaining(['Authorization', 'From', 'User-Agent', 'Age', 'ETag', 'Cookie', 'Host', 'Date', 'Range']));
  const make = (name: string): Application => createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret: () => SECRET, [option]: name } } });
  const refused = NAMES.filter((name) => {
    try {
      make(name);
      return false;
    } catch (error) {
      // The names of the other two options are refused as theirs.
      const message = (error as Error).message;
      if (!message.includes('must be another header than')) expect(message).toMatch(`security.requestSignature.${option} must be a header name (RFC 9110 section 5.1) that nothing else uses, got "${name}"`);
      return message.includes('that nothing else uses');
    }
  });
  expect(refused).toEqual(taken);
});

test.each([1, 2] as const)('no cache keeps a 401, whatever was refused: version %i', async (version) => {
  const port = await running.app((app) => {
    app.get('/', (_req, res) => res.set('Cache-Control', 'public').send('a'));
    app.on('upgrade', (_req, socket) => void socket.destroy());
  }, { security: { requestSignature: { secret: SECRET, version }, webhooks: [{ path: '/hook', preset: 'github', secret: SECRET }] } });
  const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';
  for (const head of ['GET / HTTP/1.1\r\nConnection: close\r\n', 'POST /hook HTTP/1.1\r\nConnection: close\r\n', `GET / HTTP/1.1\r\n${upgrade}`, 'GET / HTTP/1.1\r\nSvc-Request-Sig: 0\r\nSignature: 0\r\nConnection: close\r\n']) {
    const answer = await Wire.tell(port, `${head}Host: a\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 401 /);
    expect(answer).toMatch(/\r\nCache-Control: no-store\r\n/);
  }
});
