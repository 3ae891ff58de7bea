import theirs from 'express';
import { createServer, type CreateServerOptions, express, type Handler, Router, signRequest } from 'waypost';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const SECRET = 'a secret of more than thirty-two bytes';
const LIMIT = 200_000;

const running = new Running();
afterEach(() => running.close());

type Use = (mounted: Handler) => Handler;

/** What stands between an application and what it leads to: nothing, or an Express application, which puts its own prototypes on request and response. */
const BETWEEN: Record<string, Use> = {
  'an Express application': (mounted) => theirs().set('env', 'test').use(mounted as never) as unknown as Handler,
  'an Express application that goes on later': (mounted) => theirs().set('env', 'test').use((_req, _res, next) => void setImmediate(next), mounted as never) as unknown as Handler,
  'an Express application that calls it by hand, later': (mounted) => theirs().set('env', 'test').use((req, res, next) => void setImmediate(() => mounted(req as never, res as never, next as never))) as unknown as Handler,
  'two Express applications': (mounted) => theirs().set('env', 'test').use(theirs().use(mounted as never)) as unknown as Handler,
};

/** Routes of all kinds; what they answer tells what they were given. */
function routes<T extends Pick<Router, 'use' | 'all' | 'get'>>(to: T): T {
  to.use((req, _res, next) => {
    if (req.url === '/rewritten') req.url = '/echo';
    next();
  });
  to.all('/echo', (req, res) => {
    res.setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify({ body: req.body ?? null, url: req.url, original: req.originalUrl, user: req.signatureKeyId ?? null }));
  });
  to.all('/stream', (req, res) => {
    let length = 0;
    req.on('data', (chunk: Buffer) => (length += chunk.length)).on('end', () => res.end(String(length))).resume();
  });
  to.all('/unread', (_req, res) => void res.end('unread'));
  to.all('/throws', () => {
    throw Object.assign(new Error('of a handler'), { status: 418, expose: true });
  });
  to.all('/rejects', async () => {
    await null;
    throw Object.assign(new Error('of a handler'), { status: 418, expose: true });
  });
  return to;
}

const MOUNTED: Record<string, () => Handler> = {
  'a Router': () => routes(Router()) as unknown as Handler,
  'a Router that is called as a whole': () => routes(Router({ strict: true })) as unknown as Handler,
};

const AROUND: Record<string, CreateServerOptions> = {
  'parses': {},
  'parses little': { body: { limit: 100 } },
  'checks signatures of little': { body: { limit: 100 }, security: { requestSignature: { secret: () => Promise.resolve(SECRET) }, routeConfig: { requestSignature: { includeRoutes: ['/echo'] } } } },
  'parses nothing': { body: false },
  'checks signatures': { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/echo', '/throws'] } } } },
};

const BODIES: Record<string, readonly [headers: Record<string, string | number>, body: string]> = {
  'none': [{}, ''],
  'JSON': [{ 'Content-Type': 'application/json', 'Content-Length': 7 }, '{"a":1}'],
  'JSON that is malformed': [{ 'Content-Type': 'application/json', 'Content-Length': 2 }, '{"'],
  'JSON in chunks': [{ 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' }, '7\r\n{"a":1}\r\n0\r\n\r\n'],
  'JSON that is waited with': [{ 'Content-Type': 'application/json', 'Content-Length': 7, Expect: '100-continue' }, '{"a":1}'],
  'a form': [{ 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': 3 }, 'a=1'],
  'bytes': [{ 'Content-Type': 'application/octet-stream', 'Content-Length': 3 }, 'abc'],
  'much text': [{ 'Content-Type': 'text/plain', 'Content-Length': LIMIT }, 'x'.repeat(LIMIT)],
};

const PATHS = ['/echo', '/stream', '/unread', '/throws', '/rejects', '/rewritten'];

/** All that an application answers, each request on a connection of its own, with a signature and without where one is checked. */
async function answers(port: number, isChecked: boolean): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const path of PATHS) {
    for (const [name, [headers, body]] of Object.entries(BODIES)) {
      const bytes = headers['Transfer-Encoding'] === undefined ? body : '{"a":1}';
      for (const signature of isChecked ? [{}, signRequest({ secret: SECRET, method: 'POST', url: path, body: bytes })] : [{}]) {
        const text = await Wire.tell(port, head(`POST ${path}`, { ...headers, ...signature, Connection: 'close' }) + body);
        const [, status = 'none', given = ''] = /HTTP\/1\.1 ([2-5]\d\d) [^]*?\r\n\r\n([^]*)$/.exec(text) ?? [];
        // The words of a failure are those of whoever answers it: Express, too, is one.
        found[`${path} ${name} ${Object.keys(signature).length === 0 ? 'unsigned' : 'signed'}`] = status < '400' ? `${status} ${given}` : status;
      }
    }
  }
  return found;
}

describe.each(Object.entries(AROUND))('an application that %s', (_around, options) => {
  test.each(Object.entries(MOUNTED))('answers as without a framework of others between: %s', async (_mounted, make) => {
    const isChecked = options.security !== undefined;
    for (const start of [createServer, express]) {
      const listen = (mounted: Handler): Promise<number> => running.start(start({ env: 'test', logging: { level: 'silent' }, ...options }).use(mounted as never) as never);
      const wanted = await answers(await listen(make()), isChecked);
      for (const [name, use] of Object.entries(BETWEEN)) expect({ [name]: await answers(await listen(use(make())), isChecked) }).toEqual({ [name]: wanted });
    }
  });
});
