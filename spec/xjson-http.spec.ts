import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import theirs from 'express';
import { type Application, type ErrorHandler, express, type Handler, HttpError, Router, XJsonResponseHandler } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { ask, head, post, Wire } from './support/wire';

const running = new Running();

afterEach(() => running.close());

const FAILURE = { error: 'Serialization failed', message: 'Unable to serialize response object' };

function circular(): unknown {
  const data: Record<string, unknown> = { name: 'loop' };
  data['self'] = data;
  return data;
}

/** Some megabytes of data whose JSON is known. */
function large(): { data: unknown; text: string } {
  const data = Array.from({ length: 40_000 }, (_, id) => ({ id, name: `entry ${id} \u00e9\u{1f600}` }));
  return { data: [...data, 5n], text: JSON.stringify([...data, '5']) };
}

describe('res.xJson', () => {
  test('sends what res.json can\'t, as application/json', async () => {
    const port = await running.app((app) => {
      app.get('/big', (_req, res) => res.xJson({ age: 18n, list: [1n, { deep: 2n }] }));
      app.get('/loop', (_req, res) => res.xJson(circular()));
      app.get('/plain', (_req, res) => res.xJson({ date: new Date(0), none: undefined, text: '\u2028' }));
      app.get('/nothing', (_req, res) => res.xJson(undefined));
      app.get('/status', (_req, res) => res.status(202).xJson(1n));
    });
    expect(await ask(port, '/big')).toMatchObject({ status: 200, body: '{"age":"18","list":["1",{"deep":"2"}]}', headers: { 'content-type': 'application/json' } });
    expect((await ask(port, '/loop')).json).toEqual({ name: 'loop', self: '[Circular]' });
    expect((await ask(port, '/plain')).body).toBe(JSON.stringify({ date: new Date(0), text: '\u2028' }));
    expect((await ask(port, '/nothing')).body).toBe('null');
    expect((await ask(port, '/status')).status).toBe(202);
  });

  test('sends large data whole, with its length in bytes, by any chunk size', async () => {
    const { data, text } = large();
    const port = await running.app((app) => app.get('/', (req, res) => res.xJson(data, { chunkSize: Number(req.query['size']), enableStreaming: req.query['stream'] !== 'no' })));
    const digest = createHash('sha1').update(text).digest('hex');
    for (const query of ['size=65536', 'size=1000', 'size=9999999', 'size=65536&stream=no']) {
      const answer = await ask(port, `/?${query}`);
      expect([answer.headers['content-length'], answer.headers['transfer-encoding'], createHash('sha1').update(answer.bytes).digest('hex')]).toEqual([String(Buffer.byteLength(text)), undefined, digest]);
    }
  });

  test('is whole where the write of another returns nothing', async () => {
    const data = Array.from({ length: 20_000 }, (_, id) => ({ id }));
    const port = await running.app((app) => app.get('/', (_req, res) => {
      const { write } = res;
      res.write = ((...args: Parameters<typeof write>) => void write.apply(res, args)) as unknown as typeof write;
      res.xJson(data, { chunkSize: 1_000 });
    }));
    expect((await ask(port, '/')).json).toEqual(data);
  });

  test('is whole where the program has corked the response, and has announced a trailer', async () => {
    const { data, text } = large();
    const port = await running.app((app) => {
      app.get('/', (_req, res) => {
        res.cork();
        res.set('Trailer', 'X-Digest').xJson(data);
      });
      app.get('/chunked', (_req, res) => {
        const { writeHead } = res;
        res.writeHead = ((...args: Parameters<typeof writeHead>) => {
          res.removeHeader('Content-Length');
          return writeHead.apply(res, args);
        }) as typeof writeHead;
        res.cork();
        res.xJson(data);
      });
    });
    for (const path of ['/', '/chunked']) {
      const { body, headers } = await ask(port, path);
      expect([body === text, headers['content-length'], headers['trailer']]).toEqual([true, path === '/' ? String(Buffer.byteLength(text)) : undefined, undefined]);
    }
  });

  test('ends once where the end of another takes its time, and lets the caller go on with the head', async () => {
    const { data, text } = large();
    let ends = 0;
    const port = await running.app((app) => app.get('/', (_req, res) => {
      const { end } = res;
      res.end = ((...args: Parameters<typeof end>) => {
        ends++;
        setTimeout(() => end.apply(res, args), 50);
        return res;
      }) as typeof end;
      res.xJson(data, { chunkSize: 120_000 });
      res.status(201).set('X-Behind', 'yes');
    }));
    const { status, body, headers } = await ask(port, '/');
    expect([status, headers['x-behind'], body === text, ends]).toEqual([201, 'yes', true, 1]);
  });

  test('is given up where the program sends another response behind it', async () => {
    const log = new LogRecorder();
    const port = await running.app((app) => app.get('/', (_req, res) => {
      res.xJson({ text: 'x'.repeat(100_000) });
      res.end();
    }), { logging: { logger: log } });
    await ask(port, '/').catch(() => undefined);
    expect(log.text).toContain('xJson cannot answer: another response was sent while the data was serialized');
  });

  test('is cut off where the write of another throws behind the head, even if that says that it has drained', async () => {
    const { data } = large();
    const log = new LogRecorder();
    const port = await running.app((app) => {
      app.get('/', (_req, res) => {
        const { write } = res;
        let calls = 0;
        res.write = ((...args: Parameters<typeof write>) => {
          if (++calls === 1) return write.apply(res, args);
          process.nextTick(() => res.emit('drain'));
          throw new Error('broken write');
        }) as typeof write;
        res.xJson(data);
      });
      app.get('/next', (_req, res) => res.send('next'));
    }, { logging: { logger: log } });
    await expect(ask(port, '/')).rejects.toThrow();
    expect((await ask(port, '/next')).body).toBe('next');
    expect(log.text.split('Error: broken write')).toHaveLength(2);
  });

  test('answers HEAD with the head alone', async () => {
    const { data, text } = large();
    const port = await running.app((app) => app.get('/', (_req, res) => res.xJson(data)));
    const answer = await Wire.tell(port, head('HEAD /', { Connection: 'close' }));
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 200 [\\s\\S]*Content-Length: ${Buffer.byteLength(text)}\\r\\n[\\s\\S]*\\r\\n\\r\\n$`, 'i'));
  });

  test('does not hold other requests up, nor fail, when clients leave in the middle', async () => {
    const { data } = large();
    const port = await running.app((app) => {
      app.get('/large', (_req, res) => res.xJson(data));
      app.get('/', (_req, res) => res.send('alive'));
    });
    for (let round = 0; round < 5; round++) {
      const sent = request({ port, host: '127.0.0.1', path: '/large', agent: false }).end();
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      await once(response, 'data');
      sent.destroy();
    }
    expect((await ask(port, '/')).body).toBe('alive');
  });

  test('with wrong options throws a TypeError that reaches error middleware', async () => {
    const told: ErrorHandler = (error, _req, res, _next) => res.status(500).json([error instanceof TypeError, (error as Error).message]);
    const port = await running.app((app) => {
      app.get('/', (_req, res) => res.xJson({}, { maxDepth: 'deep' as never }));
      app.use(told);
    });
    expect((await ask(port, '/')).json).toEqual([true, expect.stringContaining('maxDepth')]);
  });

  test('has the response from the call on: a later throw, next or answer does not take it', async () => {
    const { data, text } = large();
    const log = new LogRecorder();
    const late: Record<string, Handler> = {
      throw: (_req, res) => {
        res.xJson(data);
        throw new Error('too late');
      },
      reject: async (_req, res) => {
        res.xJson(data);
        await null;
        throw new Error('too late');
      },
      next: (_req, res, next) => {
        res.xJson(data);
        next();
      },
      error: (_req, res, next) => {
        res.xJson(data);
        next(new Error('too late'));
      },
    };
    const port = await running.app((app) => {
      for (const [name, handler] of Object.entries(late)) app.get(`/${name}`, handler);
    }, { logging: { logger: log } });
    for (const name of Object.keys(late)) {
      const answer = await ask(port, `/${name}`);
      expect([name, answer.status, answer.body.length]).toEqual([name, 200, text.length]);
    }
    expect(log.lines.filter(({ fields }) => String(fields.err).includes('too late'))).toHaveLength(3);
  });
});

describe('data that cannot be serialized', () => {
  const BROKEN: Record<string, Handler> = {
    'json of a big integer': (_req, res) => res.json({ age: 18n }),
    'json of a cycle': (_req, res) => res.json(circular()),
    'send of a big integer': (_req, res) => res.send({ age: 18n }),
    'json of a throwing toJSON': (_req, res) => res.json({ toJSON: () => { throw new Error('inner detail'); } }),
    'xJson of a throwing toJSON': (_req, res) => res.xJson({ toJSON: () => { throw new Error('inner detail'); } }),
    'xJson of a throwing getter': (_req, res) => res.xJson({ big: 1n, get x() { throw new Error('inner detail'); } }),
  };

  test.each(Object.keys(BROKEN))('%s: 500 with the body of INTERFACE section 7.2, logged, and no error middleware', async (name) => {
    const log = new LogRecorder();
    const seen = jest.fn();
    const watch: ErrorHandler = (_error, _req, _res, _next) => seen();
    const port = await running.app((app) => {
      app.get('/', (req, res, next) => {
        res.status(201).setHeader('ETag', '"stale"');
        return (BROKEN[name] as Handler)(req, res, next);
      });
      app.use(watch);
    }, { logging: { logger: log } });
    const answer = await ask(port, '/');
    expect(answer).toMatchObject({ status: 500, json: FAILURE });
    expect(answer.headers['content-type']).toMatch(/^application\/json/);
    expect(answer.headers.etag).toBeUndefined();
    expect(seen).not.toHaveBeenCalled();
    expect(log.lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  test.each(Object.keys(BROKEN))('%s: originalError in development only', async (name) => {
    const answer = await ask(await running.app((app) => app.get('/', BROKEN[name] as Handler), { env: 'development' }), '/');
    expect(answer.json).toEqual({ ...FAILURE, originalError: expect.any(String) as unknown });
  });

  test('the call never throws: what stands after it runs', async () => {
    const after = jest.fn();
    const port = await running.app((app) => app.get('/', (_req, res) => {
      res.json(1n);
      after();
    }));
    expect((await ask(port, '/')).status).toBe(500);
    expect(after).toHaveBeenCalledTimes(1);
  });
});

describe('XJsonResponseHandler.createMiddleware', () => {
  const long: Handler = (_req, res) => res.xJson({ text: 'x'.repeat(100), deep: { deeper: { deepest: 1 } } });

  test('applies its options to res.xJson of what stands below it', async () => {
    const port = await running.app((app) => {
      app.get('/above', long);
      app.use(XJsonResponseHandler.createMiddleware({ truncateStrings: 5 }));
      app.get('/below', long);
    });
    expect((await ask(port, '/above')).json).toMatchObject({ text: 'x'.repeat(100) });
    expect((await ask(port, '/below')).json).toMatchObject({ text: 'xxxx\u2026' });
  });

  test('of a router applies there; inner options go before outer ones, those of the call before both', async () => {
    const router = Router();
    router.use(XJsonResponseHandler.createMiddleware({ truncateStrings: 3 }));
    router.get('/own', long);
    router.get('/call', (_req, res) => res.xJson('x'.repeat(10), { truncateStrings: 4 }));
    const port = await running.app((app) => {
      app.use(XJsonResponseHandler.createMiddleware({ truncateStrings: 5, maxDepth: 2 }));
      app.use('/in', router);
      app.get('/out', long);
    });
    expect((await ask(port, '/in/own')).json).toEqual({ text: 'xx\u2026', deep: { deeper: '[Object]' } });
    expect((await ask(port, '/in/call')).json).toBe('xxx\u2026');
    expect((await ask(port, '/out')).json).toEqual({ text: 'xxxx\u2026', deep: { deeper: '[Object]' } });
  });

  test('of one request does not touch the next', async () => {
    const port = await running.app((app) => {
      app.use('/short', XJsonResponseHandler.createMiddleware({ truncateStrings: 5 }));
      app.get('/**', long);
    });
    await ask(port, '/short/x');
    expect((await ask(port, '/x')).json).toMatchObject({ text: 'x'.repeat(100) });
  });

  test('handler.send answers with a handler of one\'s own', async () => {
    const handler = new XJsonResponseHandler({ truncateStrings: 5 });
    const port = await running.app((app) => app.get('/', (_req, res) => handler.send(res, ['x'.repeat(10), 1n])));
    expect((await ask(port, '/')).json).toEqual(['xxxx\u2026', '1']);
  });
});

describe('the suffix .xJson', () => {
  function register(app: Application): void {
    app.get('/user/:id', (req, res) => res.json({ id: req.params.id, big: 1n, path: req.path, url: req.url, original: req.originalUrl }));
    app.get('/send', (_req, res) => res.send({ big: 1n }));
    app.get('/own.xJson', (_req, res) => res.send('own'));
    app.get('/own', (_req, res) => res.send('without'));
    app.get('/', (_req, res) => res.json({ root: 1n }));
    app.post('/echo', (req, res) => res.json({ body: req.body, big: 1n }));
  }

  test('routes the path without it, and res.json is res.xJson', async () => {
    const port = await running.app(register);
    expect((await ask(port, '/user/7')).status).toBe(500);
    const answer = await ask(port, '/send.xJson');
    expect([answer.headers['content-type'], answer.body]).toEqual(['application/json', '{"big":"1"}']);
    expect((await post(port, '/echo.xJson', '[1]')).json).toEqual({ body: [1], big: '1' });
  });

  test('is gone from req.url, req.path and params, query kept; only originalUrl keeps it', async () => {
    const port = await running.app((app) => {
      app.get('/list/all', (req, res) => res.json({ path: req.path, url: req.url, original: req.originalUrl, query: req.query, big: 1n }));
    });
    expect((await ask(port, '/list/all.xJson?a=1.xJson')).json).toEqual({
      path: '/list/all', url: '/list/all?a=1.xJson', original: '/list/all.xJson?a=1.xJson', query: { a: '1.xJson' }, big: '1',
    });
  });

  test('yields to a route that matches the path as sent', async () => {
    const port = await running.app(register);
    expect((await ask(port, '/own.xJson')).body).toBe('own');
    expect((await ask(port, '/user/7.xJson')).status).toBe(500);
  });

  const quiet = (): Application => express({ logging: { level: 'silent' } });
  const closed = (_req: unknown, res: { statusCode: number; end(text: string): unknown }): void => {
    res.statusCode = 401;
    res.end('closed');
  };
  const guardOf = (make: () => unknown): Handler => (make() as Application).use('/secret', closed as unknown as Handler) as unknown as Handler;
  /** Puts a function around what was registered last. */
  const surround = (app: Application): void => {
    const layers = app.router.stack as { handle: unknown }[];
    const layer = layers[layers.length - 1] as { handle: unknown };
    const handle = layer.handle as Handler;
    layer.handle = ((req, res, next) => handle(req, res, next)) as Handler;
  };

  test.each<[string, () => unknown]>([['an application', quiet], ['a router', Router], ['an application of Express', theirs], ['a router of Express', theirs.Router]])('leads past no guard that stands in %s, whatever is around that', async (_name, make) => {
    for (const arrange of [
      (app: Application) => app.use(guardOf(make)),
      (app: Application) => app.use(new Proxy(guardOf(make), {})),
      (app: Application) => surround(app.use(guardOf(make))),
      (app: Application) => surround(app.use('/', Router().use(guardOf(make)))),
    ]) {
      const app = quiet();
      // Takes the target as it was sent.
      app.all('/{*path}', (_req, _res, next) => next());
      arrange(app);
      app.use(quiet().get('/secret', (_req, res) => res.send('secret')) as Application);
      const port = await running.serve(app);
      expect([(await ask(port, '/secret')).status, (await ask(port, '/secret.xJson')).status]).toEqual([401, 404]);
    }
  });

  test('is exact about case, and nothing in a query', async () => {
    const port = await running.app((app) => app.get('/exact', (_req, res) => res.json({ big: 1n })));
    expect((await ask(port, '/exact.xjson')).status).toBe(404);
    expect((await ask(port, '/exact?.xJson')).status).toBe(500);
    expect((await ask(port, '/exact.xJson')).status).toBe(200);
  });

  test('does not lead around guards: mounts and middleware see the path without it', async () => {
    const port = await running.app((app) => {
      app.use('/admin', (_req, res) => res.status(403).end());
      app.get('/admin', (_req, res) => res.json('secret'));
    });
    for (const path of ['/admin', '/admin.xJson']) expect((await ask(port, path)).status).toBe(403);
  });

  test('leaves other requests as they were', async () => {
    const port = await running.app(register);
    await ask(port, '/own.xJson');
    expect((await ask(port, '/user/7')).json).toEqual(FAILURE);
  });

  test('of a path that has no route either is 404 as sent', async () => {
    const port = await running.app(register);
    expect((await ask(port, '/none.xJson'))).toMatchObject({ status: 404, json: { error: 'Not Found', message: 'Cannot GET /none.xJson' } });
  });
});

test('what fails in development still hides nothing but says what failed', async () => {
  const port = await running.app((app) => app.get('/', () => {
    throw new HttpError(500, 'X', 'visible');
  }), { env: 'development' });
  expect((await ask(port, '/')).json).toMatchObject({ message: 'visible' });
});
