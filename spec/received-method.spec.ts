import type { IncomingMessage, RequestListener } from 'node:http';
import theirs from 'express';
import { createServer, type ErrorHandler, Router, signRequest } from 'waypost';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const SECRET = 'the secret of these specs, 32 bytes or more';
const running = new Running();
afterEach(() => running.close());

type Change = (req: IncomingMessage) => void;
type Around = (change: Change, make: () => RequestListener) => RequestListener;

/** What has a request before waypost, and changes its method. */
const AROUND: Record<string, Around> = {
  'a server by hand': (change, make) => {
    const listener = make();
    return (req, res) => {
      change(req);
      (listener as unknown as Router)(req, res, () => void res.writeHead(404).end('of the server'));
    };
  },
  'Express': (change, make) => theirs().use((req, _res, next) => {
    change(req);
    next();
  }).use(make()),
  'another application': (change, make) => createServer({ logging: { level: 'silent' } }).use((req, _res, next) => {
    change(req as unknown as IncomingMessage);
    next();
  }).use(make() as never) as unknown as RequestListener,
};

const WITHIN: Record<string, () => RequestListener> = {
  'an application': () => routes(createServer({ logging: { level: 'silent' } }) as unknown as Router) as unknown as RequestListener,
  'a Router': () => routes(Router()) as unknown as RequestListener,
};

function routes<T extends Pick<Router, 'get' | 'use'>>(to: T): T {
  to.get('/throws', () => {
    throw new Error('of a handler');
  });
  to.get('/last', (_req, res) => void res.setHeader('Connection', 'close').end('the last'));
  const failed: ErrorHandler = (_error, _req, res, _next) => void res.writeHead(500).end('of error middleware');
  to.use('/throws', failed);
  return to;
}

describe.each(Object.entries(AROUND))('a HEAD that %s has made a GET', (_around, around) => {
  test.each(Object.entries(WITHIN))('is answered without a body by %s', async (_within, make) => {
    const port = await running.serve(around((req) => {
      if (req.method === 'HEAD') req.method = 'GET';
    }, make));
    for (const path of ['/throws', '/nowhere', '/%zz']) {
      const [first, last] = (await Wire.tell(port, head(`HEAD ${path}`) + head('GET /last'))).split(/(?=HTTP\/1\.1 \d)/);
      expect(first).toMatch(/^HTTP\/1\.1 [45]\d\d [^]*\r\n\r\n$/);
      expect(last).toMatch(/\r\n\r\nthe last$/);
    }
  });
});

/** As method-override does it, which keeps the method that was sent. */
const override: Change = (req) => {
  const { method } = req as { method: string };
  Object.assign(req, { originalMethod: method, method: req.headers['x-http-method-override'] ?? method });
};

test.each(Object.entries(AROUND))('a signature is checked over the method that was sent, where %s overrides it', async (_around, around) => {
  const port = await running.serve(around(override, () => {
    const app = createServer({ logging: { level: 'silent' }, security: { requestSignature: { secret: SECRET } } });
    app.put('/x', (_req, res) => res.send('put'));
    return app as unknown as RequestListener;
  }));
  const ask = (method: string): Promise<Response> => fetch(`http://127.0.0.1:${port}/x`, { method: 'POST', headers: { 'X-HTTP-Method-Override': 'PUT', ...signRequest({ secret: SECRET, method, url: '/x' }) } });
  expect(await (await ask('POST')).text()).toBe('put');
  expect((await ask('PUT')).status).toBe(401);
});
