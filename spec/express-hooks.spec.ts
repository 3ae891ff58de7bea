import { createServer as createHttpServer, type RequestListener } from 'node:http';
import realExpress, { type ErrorRequestHandler, type Express } from 'express';
import { createServer, express } from 'waypost';
import { ExpressOracle } from './support/express-oracle';
import { Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

test('what a program puts in the place of accepts and fresh is asked', async () => {
  const oracle = running.keep(await ExpressOracle.start((app) => {
    app.use((req, _res, next) => {
      Object.defineProperty(req, 'accepts', { value: (types: string[]) => types.find((type) => type.includes(req.query['as'] as string)) ?? false });
      Object.defineProperty(req, 'fresh', { value: req.query['fresh'] === 'yes' });
      next();
    });
    app.get('/format', (_req, res) => void res.format({ html: () => void res.send('<p>'), json: () => void res.json({}), default: () => void res.send('default') }));
    app.get('/redirect', (_req, res) => void res.redirect('/format'));
    app.get('/tagged', (_req, res) => void res.send('tagged'));
  }));
  const accept = { headers: { accept: 'application/json' } };
  expect((await oracle.ask('/format?as=html', accept)).body).toBe('<p>');
  expect((await oracle.ask('/format?as=json')).body).toBe('{}');
  expect((await oracle.ask('/format?as=nothing')).body).toBe('default');
  expect((await oracle.ask('/redirect?as=html', { headers: { accept: 'text/plain' } })).headers['content-type']).toContain('text/html');
  expect((await oracle.ask('/tagged?fresh=yes')).status).toBe(304);
  const { headers } = await oracle.ask('/tagged');
  expect((await oracle.ask('/tagged?fresh=no', { headers: { 'if-none-match': String(headers['etag']) } })).status).toBe(200);
});

test('an answer to QUERY may be one that the client has still', async () => {
  const oracle = running.keep(await ExpressOracle.start((app) => {
    app.use((req, res) => {
      // Node 20 does not know the method; what it is comes to the same.
      req.method = 'QUERY';
      res.set('ETag', '"1"').send(String(req.fresh));
    });
  }));
  expect((await oracle.ask('/', { headers: { 'if-none-match': '"1"' } })).status).toBe(304);
  expect((await oracle.ask('/', { headers: { 'if-none-match': '"2"' } })).body).toBe('false');
});

/** The same program on Express and on express(). */
async function both(program: (app: Express) => void): Promise<(path: string) => Promise<[number, string]>> {
  const ports = await Promise.all([realExpress(), express({ env: 'test', logging: { level: 'silent' } })].map((app) => {
    program(app as Express);
    return running.listen(createHttpServer(app as RequestListener));
  }));
  return async (path) => {
    const [theirs, ours] = await Promise.all(ports.map(async (port): Promise<[number, string]> => {
      const { status, body } = await ask(port, path);
      return [status, body];
    }));
    expect(ours).toEqual(theirs);
    return ours as [number, string];
  };
}

const onError: ErrorRequestHandler = (error: Error & { status?: number }, _req, res, _next) => void res.status(error.status ?? 500).send(`${error.name} met`);

test('data that no JSON can hold is an error that error middleware hears, as on Express', async () => {
  const told = await both((app) => {
    const ring: Record<string, unknown> = {};
    ring['ring'] = ring;
    app.get('/big', (_req, res) => void res.json({ id: 1n }));
    app.get('/ring', (_req, res) => void res.send(ring));
    app.get('/jsonp', (_req, res) => void res.jsonp(ring));
    app.get('/late', (_req, res, next) => void setImmediate(() => {
      try {
        res.json(ring);
      } catch (error) {
        next(error);
      }
    }));
    app.use(onError);
  });
  for (const path of ['/big', '/ring', '/jsonp', '/jsonp?callback=f', '/late']) expect(await told(path)).toEqual([500, 'TypeError met']);
});

test('what is no data is an error that error middleware hears, not an answer of its insides', async () => {
  const port = await running.listen(createHttpServer(express({ logging: { level: 'silent' } }).get('/', (_req, res) => res.json(Promise.resolve())).use(onError as never)));
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('TypeError met');
});

test('with createServer the answer for such data is its own still', async () => {
  const port = await running.listen(createHttpServer(createServer({ logging: { level: 'silent' } }).get('/', (_req, res) => res.json({ id: 1n })).use(onError as never)));
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).json()).toEqual({ error: 'Serialization failed', message: 'Unable to serialize response object' });
});

test('a directory in the place of a file goes on to what stands below, as on Express', async () => {
  const told = await both((app) => {
    app.get('/plain', (_req, res) => res.sendFile(__dirname));
    app.get('/called', (_req, res) => res.sendFile(__dirname, (error) => void res.send((error as NodeJS.ErrnoException).code)));
    app.get('/missing', (_req, res) => res.sendFile(`${__dirname}/none`));
    app.use((req, res) => void res.send(`below ${req.path}`));
    app.use(onError);
  });
  expect(await told('/plain')).toEqual([200, 'below /plain']);
  expect(await told('/called')).toEqual([200, 'EISDIR']);
  expect((await told('/missing'))[0]).toBe(404);
});
