import { createServer, type CreateServerOptions, express, type Handler, signRequest } from 'waypost';
import { Folder } from '../support/folder';
import { Running } from '../support/running';
import { type Answer, ask } from '../support/wire';
import type { ProxyProcess } from '../support/proxy-process';
import { CACHE_NAMES, startCache } from './shared-cache';

const SECRET = 'correct horse battery staple 0123456789';

const running = new Running();
const folder = new Folder({ 'file.txt': 'a file', 'directory/index.html': 'an index' });
const file = `${folder.path}/file.txt`;

/** Of these the program says nothing about caching, or what only one who has signed is meant by. */
const PRIVATE: Readonly<Record<string, Handler>> = {
  json: (_req, res) => res.json({ secret: 1 }),
  xJson: (_req, res) => res.xJson({ secret: 1n }),
  send: (_req, res) => res.send('secret'),
  end: (_req, res) => res.end('secret'),
  'an ETag of its own': (_req, res) => res.set('ETag', '"1"').json({ secret: 1 }),
  'Last-Modified': (_req, res) => res.set('Last-Modified', 'Tue, 14 Nov 2023 22:13:20 GMT').json({ secret: 1 }),
  Expires: (_req, res) => res.set('Expires', new Date(Date.now() + 60_000).toUTCString()).json({ secret: 1 }),
  sendFile: (_req, res) => res.sendFile(file),
  'sendFile for a while': (_req, res) => res.sendFile(file, { maxAge: '1m' }),
  'sendFile without Cache-Control': (_req, res) => res.sendFile(file, { cacheControl: false }),
  'a redirect': (_req, res) => res.redirect('/secret'),
  'a lasting redirect': (_req, res) => res.redirect(301, '/secret'),
  'a 404 of its own': (_req, res) => res.status(404).json({ secret: 1 }),
  'no content': (_req, res) => res.sendStatus(204),
  'an error': () => { throw Object.assign(new Error('gone for good'), { status: 410 }); },
};

/** Of these it asks shared caches to store them, in the words of RFC 9111. */
const SHARED: Readonly<Record<string, Handler>> = {
  public: (_req, res) => res.set('Cache-Control', 'public, max-age=60').json({ secret: 1 }),
  's-maxage': (_req, res) => res.set('Cache-Control', 's-maxage=60').json({ secret: 1 }),
  'max-age alone': (_req, res) => res.set('Cache-Control', 'max-age=60').json({ secret: 1 }),
  'a file': (_req, res) => res.sendFile(file, { headers: { 'Cache-Control': 'public, max-age=60' } }),
};

const ROUTES = { ...PRIVATE, ...SHARED };
const OTHERS = { static: '/files/file.txt', 'a directory': '/files/directory', 'no route': '/none' };

function pathOf(name: string): string {
  return OTHERS[name as keyof typeof OTHERS] ?? `/${Object.keys(ROUTES).indexOf(name)}`;
}

afterAll(async () => {
  await running.close();
  folder.close();
});

describe.each(CACHE_NAMES)('%s', (cacheName) => {
  describe.each([['createServer', createServer, 1], ['express', express, 1], ['createServer, version 2', createServer, 2]] as const)('before an application of %s', (_name, make, version) => {
    let cache: ProxyProcess;
    /** Requests that have come to the application itself. */
    let came: string[] = [];
    /** Each test has targets of its own, which nothing is stored of. */
    let query = 0;

    beforeAll(async () => {
      const options: CreateServerOptions = {
        env: 'test', logging: { level: 'silent' },
        security: { requestSignature: { secret: SECRET, version }, routeConfig: { requestSignature: { excludeRoutes: ['/open/**'] } } },
      };
      const app = make(options);
      app.use((req, _res, next) => {
        came.push(`${req.method} ${req.originalUrl}`);
        next();
      });
      app.use(['/files', '/open/files'], express.static(folder.path, { maxAge: '1m' }));
      Object.values(ROUTES).forEach((handler, index) => app.get([`/${index}`, `/open/${index}`] as string[], handler));
      cache = await startCache(cacheName, await running.start(app));
    });

    afterAll(() => cache.close());

    beforeEach(() => {
      came = [];
      query++;
    });

    function sign(url: string, method = 'GET'): Record<string, string> {
      return signRequest({ secret: SECRET, method, url, version });
    }

    function through(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
      return ask(cache.port, url, { method, headers });
    }

    test.each(['public', 'max-age alone', 'sendFile for a while', 'static'])('stores %s that needs no signature', async (name) => {
      const url = `/open${pathOf(name)}?${query}`;
      const [one, other] = [await through(url), await through(url)];
      expect([one.status, other.body]).toEqual([200, one.body]);
      expect(came).toEqual([`GET ${url}`]);
    });

    test.each([...Object.keys(ROUTES), ...Object.keys(OTHERS)])('gives nobody what another has signed for: %s', async (name) => {
      const url = `${pathOf(name)}?${query}`;
      expect((await through(url)).status).toBe(401);
      const signed = await through(url, sign(url));
      expect([200, 204, 301, 302, 404, 410]).toContain(signed.status);
      const forged = Object.fromEntries(Object.entries(sign(url)).map(([field, value]) => [field, value.replace(/[0-9a-f]{8}/, '00000000')]));
      for (const headers of [{}, forged, { 'If-None-Match': String(signed.headers.etag) }, { 'If-Modified-Since': String(signed.headers['last-modified']) }, { Range: 'bytes=0-1' }]) {
        const { status, body } = await through(url, headers);
        expect([status, body]).toEqual([401, expect.stringContaining('ignature')]);
      }
      expect((await through(url, {}, 'HEAD')).status).toBe(401);
      // The refusals have not taken its place.
      expect((await through(url, sign(url))).status).toBe(signed.status);
    });

    test.each([...Object.keys(ROUTES), ...Object.keys(OTHERS)])('gives nobody what another has signed for by HEAD, or with a condition: %s', async (name) => {
      const url = `${pathOf(name)}?${query}`;
      const head = await through(url, sign(url, 'HEAD'), 'HEAD');
      // Varnish asks by GET, which is not what was signed.
      expect(head.status === 401).toBe(cacheName === 'varnish');
      const whole = await through(url, sign(url));
      const held = await through(url, { ...sign(url), 'If-None-Match': String(whole.headers.etag), 'If-Modified-Since': String(whole.headers['last-modified']) });
      expect([304, whole.status]).toContain(held.status);
      for (const method of ['GET', 'HEAD']) expect((await through(url, {}, method)).status).toBe(401);
    });

    test.each(Object.keys(SHARED))('stores for the same signature what the program has it store: %s', async (name) => {
      const url = `${pathOf(name)}?${query}`;
      const headers = sign(url);
      const answers = [await through(url, headers), await through(url, headers)];
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(came).toEqual([`GET ${url}`]);
      expect((await through(url)).status).toBe(401);
      // Of another time, or another nonce.
      const timestamp = Date.now() - 1000;
      expect((await through(url, signRequest({ secret: SECRET, method: 'GET', url, version, timestamp }))).status).toBe(200);
      expect(came).toEqual([`GET ${url}`, `GET ${url}`]);
    });
  });
});
