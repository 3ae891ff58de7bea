import { request as askOverHttp } from 'node:http';
import express from 'express';
import { type Application, createServer, ERRORS, type Handler, Router, signRequest } from 'waypost';
import { Running } from './support/running';
import { Wire } from './support/wire';

const running = new Running();
const seen: string[] = [];

afterEach(async () => {
  await running.close();
  seen.length = 0;
});

/** All that could take a request. */
function routes(app: Application): void {
  app.use((req, _res, next) => {
    seen.push(`middleware ${req.url}`);
    next();
  });
  app.post('/a', (req, res) => {
    seen.push(`handler ${req.url}`);
    res.json(req.body);
  });
  app.get('/b', (_req, res) => {
    seen.push('second');
    res.send('second');
  });
  app.fallback((_req, res) => {
    seen.push('fallback');
    res.end();
  });
}

/** A request with its body in chunks, and one behind it in the same packet. */
function told(path: string, fields: readonly string[], version = '1.1', more = ''): string {
  return `POST ${path} HTTP/${version}\r\nHost: a\r\n${more}Content-Type: application/json\r\n${fields.map((field) => `${field}\r\n`).join('')}\r\n3\r\n"x"\r\n0\r\n\r\n`
    + 'GET /b HTTP/1.1\r\nHost: a\r\n\r\n';
}

const REFUSED = {
  error: 'Not Implemented', message: ERRORS.UNSUPPORTED_TRANSFER_CODING.message,
};

const CODED = [
  ['Transfer-Encoding: gzip, chunked'], ['transfer-encoding: GZIP,CHUNKED'], ['Transfer-Encoding: deflate, chunked'], ['Transfer-Encoding: identity, chunked'],
  ['Transfer-Encoding: x, chunked'], ['Transfer-Encoding: ,chunked'], ['Transfer-Encoding: gzip', 'Transfer-Encoding: chunked'], ['TRANSFER-ENCODING: br, gzip , chunked'],
];

/** What a server of Node may call, with these routes, or an application that has them. */
const ROUTERS: Record<string, () => Application> = {
  'an application around a router': () => {
    const router = Router();
    routes(Object.assign(router, { fallback: () => undefined }) as unknown as Application);
    return createServer({ logging: { level: 'silent' }, body: { limit: 10 } }).use(router);
  },
  'a router around an application, within another': () => {
    const app = createServer({ logging: { level: 'silent' }, body: { limit: 10 } });
    routes(app);
    return createServer({ logging: { level: 'silent' }, body: { limit: 10 } }).use(Router().use(app as unknown as Handler));
  },
};

describe.each(Object.entries(ROUTERS))('%s that is called by a server of Node', (_name, make) => {
  test.each(CODED)('answers 501 too, and nothing runs, nor what follows: %s %s', async (...fields) => {
    const text = await Wire.tell(await running.serve(make()), told('/a', fields));
    expect(text.split('\r\n\r\n', 2)[0]).toMatch(/^HTTP\/1\.1 501 [^]*^Connection: close$/im);
    expect([text.match(/HTTP\/1\.1/g)?.length, seen]).toEqual([1, []]);
  });

  test('carries nothing out behind the last answer of its connection', async () => {
    const text = await Wire.tell(await running.serve(make()), `POST /a HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n${'1'.repeat(20)}GET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
    expect([text.slice(9, 12), text.match(/HTTP\/1\.1/g)?.length, seen]).toEqual(['413', 1, ['middleware /a']]);
  });
});

describe('a body in a transfer coding besides chunked', () => {
  test.each(CODED.flatMap((fields) => ['/a', '/none'].map((path) => [path, ...fields])))('is 501, and nothing runs, nor what follows: %s %s %s', async (path, ...fields) => {
    const port = await running.app(routes);
    const text = await Wire.tell(port, told(path as string, fields as string[]));
    const [head, body = ''] = text.split('\r\n\r\n', 2);
    expect(head).toMatch(/^HTTP\/1\.1 501 Not Implemented\r\n/);
    expect(head).toMatch(/^Connection: close$/im);
    expect(JSON.parse(body)).toEqual(REFUSED);
    expect(text.match(/HTTP\/1\.1/g)).toHaveLength(1);
    expect(seen).toEqual([]);
  });

  test('is refused in HTTP/1.0, which has none', async () => {
    const port = await running.app(routes);
    expect(await Wire.tell(port, told('/a', ['Transfer-Encoding: chunked', 'Connection: keep-alive'], '1.0'))).toMatch(/^HTTP\/1\.1 400 /);
    expect(seen).toEqual([]);
  });

  test('behind a request that still waits for its answer lets nothing behind it run', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    let answer = (): void => undefined;
    app.get('/slow', (_req, res) => {
      seen.push('slow');
      answer = () => void res.send('slow');
    });
    routes(app);
    const port = await running.start(app);
    const wire = await Wire.open(port);
    wire.write(`GET /slow HTTP/1.1\r\nHost: a\r\n\r\n${told('/a', ['Transfer-Encoding: gzip, chunked'])}`);
    await wire.flushed();
    // Another connection's turn: by its answer the packet before it has been taken in.
    await Wire.tell(port, 'GET /none HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    answer();
    await wire.end;
    expect(wire.text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200', 'HTTP/1.1 501']);
    expect(seen).not.toContain('second');
  });

  test('does not pass the signature check, nor is it asked for by 100 Continue', async () => {
    const secret = 'x'.repeat(32);
    const port = await running.app(routes, { security: { requestSignature: { secret } } });
    const signed = Object.entries(signRequest({ secret, method: 'POST', url: '/a', body: '"x"' })).map(([name, value]) => `${name}: ${value}`);
    expect(await Wire.tell(port, told('/a', [...signed, 'Transfer-Encoding: gzip, chunked']))).toMatch(/^HTTP\/1\.1 501 /);
    expect(await Wire.tell(port, told('/a', ['Transfer-Encoding: gzip, chunked', 'Expect: 100-continue']))).toMatch(/^HTTP\/1\.1 501 /);
    expect(seen).toEqual([]);
  });

  test('is refused within an application of Express, and by inject', async () => {
    const app = createServer({ env: 'test', logging: { level: 'silent' } });
    routes(app);
    const outer = express().use(app as never);
    const port = await running.serve(outer);
    expect(await Wire.tell(port, told('/a', ['Transfer-Encoding: gzip, chunked']))).toMatch(/^HTTP\/1\.1 501 /);
    expect((await app.inject({ method: 'POST', url: '/a', headers: { 'transfer-encoding': 'gzip, chunked' }, payload: 'x' })).statusCode).toBe(501);
    expect(seen).toEqual([]);
  });
});

describe('chunked alone', () => {
  test.each(['chunked', 'Chunked', ' CHUNKED '])('is read, in any spelling: %j', async (coding) => {
    const port = await running.app(routes);
    const text = await Wire.tell(port, told('/a', [`Transfer-Encoding:${coding}`]).replace('GET /b HTTP/1.1\r\n', 'GET /b HTTP/1.1\r\nConnection: close\r\n'));
    expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*"x"HTTP\/1\.1 200 OK\r\n[\s\S]*second$/);
  });

  test('is what Node\'s own client sends', async () => {
    const port = await running.app(routes);
    const status = await new Promise((resolve) => {
      const sent = askOverHttp({ port, host: '127.0.0.1', path: '/a', method: 'POST', agent: false, headers: { 'content-type': 'application/json' } }, (res) => resolve(res.resume().statusCode));
      sent.write('"x');
      sent.end('"');
    });
    expect(status).toBe(200);
  });
});
