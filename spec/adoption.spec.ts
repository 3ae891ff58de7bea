import { createServer as createHttpServer, IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import supertest from 'supertest';
import { type Application, createServer, type Handler, Request, Response, Router, signRequest } from 'waypost';
import { Running } from './support/running';
import { ask, post } from './support/wire';

const running = new Running();

afterEach(() => running.close());

function silent(register: (app: Application) => void = () => undefined, options = {}): Application {
  const app = createServer({ env: 'test', logging: { level: 'silent' }, ...options });
  register(app);
  return app;
}

/** A route that uses what only waypost's own request and response have. */
function own(app: Application): void {
  app.all('/own/:id', (req, res) => {
    res.xJson({ id: req.params.id, big: 2n ** 70n, body: req.body, raw: req.rawBody?.toString(), original: req.originalUrl, base: req.baseUrl, path: req.path, query: req.query });
  });
}

const OWN = { id: '7', big: '1180591620717411303424', original: '/own/7?a=1', base: '', path: '/own/7', query: { a: '1' } };

describe('a request and a response of node:http', () => {
  test('are adopted: parameters, body, xJson, errors, 404', async () => {
    const app = silent((it) => {
      own(it);
      it.get('/broken', () => {
        throw new Error('x');
      });
    });
    const port = await running.serve((req, res) => {
      expect(req).not.toBeInstanceOf(Request);
      app(req, res);
      expect([req instanceof Request, res instanceof Response]).toEqual([true, true]);
    });
    expect((await ask(port, '/own/7?a=1')).json).toEqual(OWN);
    expect((await post(port, '/own/7?a=1', '{"k":1}')).json).toEqual({ ...OWN, body: { k: 1 }, raw: '{"k":1}' });
    expect((await ask(port, '/broken')).status).toBe(500);
    expect((await ask(port, '/none')).json).toEqual({ error: 'Not Found', message: 'Cannot GET /none' });
    expect((await post(port, '/own/7', '{')).status).toBe(400);
  });

  test('of subclasses too', async () => {
    class OwnRequest extends IncomingMessage {}
    class OwnResponse extends ServerResponse {}
    const app = silent(own);
    const server = createHttpServer({ IncomingMessage: OwnRequest, ServerResponse: OwnResponse as typeof ServerResponse }, app);
    await supertest(server).get('/own/7?a=1').expect(200, OWN);
  });

  test('are given back as they were to a framework around when the application has nothing for them', async () => {
    const app = silent(own);
    const around = express();
    around.use(app as never, (req, res) => void res.json([Object.getPrototypeOf(req) === around.request, Object.getPrototypeOf(res) === around.response, req.url]));
    expect((await ask(await running.serve(around), '/none?x=1')).json).toEqual([true, true, '/none?x=1']);
  });

  test('of two applications in turn', async () => {
    const first = silent((app) => app.get('/one', (_req, res) => res.send('one')));
    const second = silent((app) => app.get('/two', (req, res) => res.json([req.app === second, res.app === second])));
    const port = await running.serve((req, res) => first(req, res, () => second(req, res)));
    expect((await ask(port, '/one')).body).toBe('one');
    expect((await ask(port, '/two')).json).toEqual([true, true]);
    expect((await ask(port, '/none')).status).toBe(404);
  });

  test('may have been read already: the body is left to whoever did', async () => {
    const app = silent((it) => it.post('/', (req, res) => res.json([req.body ?? null, req.rawBody === undefined])));
    const port = await running.serve((req, res) => {
      req.resume().on('end', () => app(req, res));
    });
    expect((await post(port, '/', '{"a":1}')).json).toEqual([null, true]);
  });

  test('are captured whole when the application is called late', async () => {
    const app = silent((it) => it.post('/', (req, res) => res.json(req.body)));
    // Not before the stream is full, and takes nothing more until someone reads.
    const port = await running.serve((req, res) => {
      const look = (): unknown => (req.readableLength < req.readableHighWaterMark ? setImmediate(look) : app(req, res));
      look();
    });
    const body = JSON.stringify(['x'.repeat(500_000)]);
    expect((await post(port, '/', body)).body).toBe(body);
  });
});

describe('supertest', () => {
  test('takes the application as it takes any listener', async () => {
    const app = silent((it) => {
      own(it);
      it.get('/json', (_req, res) => res.status(201).json({ a: 1 }));
    });
    await supertest(app).get('/json').expect('Content-Type', /json/).expect(201, { a: 1 });
    await supertest(app).post('/own/7?a=1').send({ k: 1 }).expect(200, { ...OWN, body: { k: 1 }, raw: '{"k":1}' });
    await supertest(app).get('/none').expect(404);
  });
});

describe('mounted in Express', () => {
  test('answers what it has, and leaves the rest to Express, whose req and res are whole again', async () => {
    const outer = express();
    outer.use('/sub', silent(own));
    outer.use('/sub', (req, res) => res.json([req.app === outer, typeof (res as { xJson?: unknown }).xJson, req.baseUrl, req.url, req.query]));
    const port = await running.serve(outer);
    expect((await ask(port, '/sub/own/7?a=1')).json).toEqual({ ...OWN, original: '/sub/own/7?a=1', base: '/sub' });
    expect((await ask(port, '/sub/none?b=2')).json).toEqual([true, 'undefined', '/sub', '/none?b=2', { b: '2' }]);
  });

  test('after express.json takes the body that Express parsed', async () => {
    const outer = express();
    outer.use(express.json());
    outer.use(silent(own));
    expect((await post(await running.serve(outer), '/own/7?a=1', '{"k":1}')).json).toEqual({ ...OWN, body: { k: 1 } });
  });

  test('sees the locals of Express and parses what Express has no parser for, and leaves both to Express', async () => {
    const outer = express();
    outer.use(express.json(), (_req, res, next) => {
      res.locals['user'] = 'ada';
      next();
    });
    outer.use('/sub', silent((app) => {
      app.post('/in', (req, res) => res.json([req.body, res.locals]));
      app.use((_req, res, next) => {
        res.locals['seen'] = true;
        next();
      });
    }));
    outer.use((req: express.Request, res: express.Response) => void res.json(['outer', req.body, res.locals]));
    const port = await running.serve(outer);
    const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=1' };
    expect((await ask(port, '/sub/in', form)).json).toEqual([{ a: '1' }, { user: 'ada' }]);
    expect((await post(port, '/sub/in', '{"k":1}')).json).toEqual([{ k: 1 }, { user: 'ada' }]);
    expect((await post(port, '/sub/none', '{"k":1}')).json).toEqual(['outer', { k: 1 }, { user: 'ada', seen: true }]);
  });

  test('hands its errors to the error middleware of Express', async () => {
    const outer = express();
    outer.use(silent((app) => app.get('/', () => {
      throw new Error('inner');
    })));
    outer.use((error: Error, _req: express.Request, res: express.Response, _next: express.NextFunction) => void res.status(500).json(error.message));
    expect((await ask(await running.serve(outer), '/')).json).toBe('inner');
  });
});

describe('Express mounted in the application', () => {
  test('answers what it has, and leaves the rest to the application, whose req and res are whole again', async () => {
    const inner = express();
    inner.get('/in', (req, res) => void res.json([req.url, req.baseUrl, req.app === inner]));
    inner.use((_req, _res, next) => next());
    const app = silent((it) => {
      it.use('/sub', inner as never);
      it.get('/sub/own', (req, res) => res.xJson({ big: 1n, own: [req instanceof Request, res instanceof Response, req.app === it], url: req.url, base: req.baseUrl }));
      it.use((req, res) => res.status(404).json([req.app === it, req.url]));
    });
    for (const port of [await running.start(app), await running.serve(app)]) {
      expect((await ask(port, '/sub/in?x')).json).toEqual(['/in?x', '/sub', true]);
      expect((await ask(port, '/sub/own')).json).toEqual({ big: '1', own: [true, true, true], url: '/sub/own', base: '' });
      expect((await ask(port, '/sub/none')).json).toEqual([true, '/sub/none']);
    }
  });

  test('hands its errors to the error middleware of the application', async () => {
    const inner = express();
    inner.get('/', () => {
      throw new Error('inner');
    });
    const port = await running.app((app) => {
      app.use(inner as never);
      app.use((error: unknown, _req: Request, res: Response, _next: unknown) => res.xJson([(error as Error).message, 1n]));
    });
    expect((await ask(port, '/')).json).toEqual(['inner', '1']);
  });

  test.each(['mounted', 'fallback'])('as %s it sees the parsed body and the locals', async (how) => {
    const inner = express();
    inner.post('/in', (req, res) => void res.json([req.body, res.locals]));
    const port = await running.app((app) => {
      app.use((_req, res, next) => {
        res.locals['user'] = 'ada';
        next();
      });
      app.post('/in', (_req, _res, next) => next());
      if (how === 'mounted') app.use(inner as never);
      else app.fallback(inner);
    });
    expect((await post(port, '/in', '{"a":1}')).json).toEqual([{ a: 1 }, { user: 'ada' }]);
  });

  test('what it leaves is seen behind it: its locals, its body, and a body that it has no parser for', async () => {
    const inner = express();
    inner.use(express.json(), (req, res, next) => {
      res.locals['inner'] = true;
      if (req.query['set'] !== undefined) req.body = 'set';
      next();
    });
    const port = await running.app((app) => {
      app.use((_req, res, next) => {
        res.locals['outer'] = true;
        next();
      });
      app.use(inner as never);
      app.post('/x', (req, res) => res.json([req.body, res.locals]));
    });
    const form = { method: 'POST', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'a=1' };
    const locals = { outer: true, inner: true };
    expect((await ask(port, '/x', form)).json).toEqual([{ a: '1' }, locals]);
    expect((await post(port, '/x', '{"a":1}')).json).toEqual([{ a: 1 }, locals]);
    expect((await ask(port, '/x?set', form)).json).toEqual(['set', locals]);
  });

  test('may take the body away', async () => {
    for (const away of [(req: express.Request) => { req.body = undefined; }, (req: express.Request) => Reflect.deleteProperty(req, 'body')]) {
      const inner = express();
      inner.use((req, _res, next) => {
        away(req);
        next();
      });
      const port = await running.app((app) => {
        app.post('/x', (_req, _res, next) => next());
        app.use(inner as never);
        app.use((req, res) => res.json([req.body ?? 'none']));
      });
      expect((await post(port, '/x', '{"a":1}')).json).toEqual(['none']);
    }
  });

  test('within a router of Express, which is not known for one, it takes no locals away', async () => {
    const inner = express();
    inner.use((_req, res, next) => {
      res.locals['inner'] = true;
      next();
    });
    const port = await running.app((app) => {
      app.use((_req, res, next) => {
        res.locals['user'] = 'ada';
        next();
      });
      app.use(express.Router().use(inner) as never);
      app.use((_req, res) => res.json(res.locals));
    });
    expect((await ask(port, '/')).json).toEqual({ user: 'ada', inner: true });
  });

  test('parameters and next are those of the layer behind it', async () => {
    const port = await running.app((app) => {
      app.use(express() as never);
      app.get('/:id', (_req, _res, next) => next());
      app.use((req, res) => res.json([req.params, typeof req.next]));
    });
    expect((await ask(port, '/77')).json).toEqual([{}, 'function']);
  });

  test('a body that is no plain property is neither read nor taken', async () => {
    let reads = 0;
    const lazy = { get: () => (reads++, 'lazy'), configurable: true };
    const fixed = { value: 'fixed', enumerable: true };
    const inner = express();
    for (const property of [lazy, fixed]) {
      const own = silent((app) => {
        app.use((req, _res, next) => {
          if (!Object.hasOwn(req, 'body')) Object.defineProperty(req, 'body', property);
          next();
        });
        app.use(inner as never);
        app.get('/in', (_req, res) => res.send('in'));
      });
      const port = await running.serve((req, res) => {
        Object.defineProperty(req, 'body', property);
        own(req, res, () => res.end('left'));
      });
      expect([(await ask(port, '/in')).body, (await ask(port, '/none')).body]).toEqual(['in', 'left']);
      expect((await ask(await running.start(own), '/in')).body).toBe('in');
    }
    expect(reads).toBe(0);
  });

  test.each(['format', 'sendFile'] as const)('what %s fails with later is a 500, whoever holds the response by then', async (method) => {
    for (const how of ['mounted', 'fallback', 'around'] as const) {
      const other = express();
      let called: () => void = () => undefined;
      const entered = new Promise<void>((resolve) => {
        called = resolve;
      });
      const late = async (): Promise<void> => {
        await entered;
        throw new Error('too late');
      };
      const app = silent((it) => {
        it.get('/x', (_req, res, next) => {
          if (method === 'format') res.format({ default: late });
          else res.sendFile('/nowhere', late);
          next();
        });
        if (how === 'mounted') it.use(other as never);
        if (how === 'fallback') it.fallback(other);
      });
      if (how === 'around') other.use(app);
      other.use(() => called());
      const port = how === 'around' ? await running.serve(other) : await running.start(app);
      expect((await ask(port, '/x')).status).toBe(500);
    }
  });

  test('the answer to an error goes through methods that somebody has put before the application', async () => {
    const app = silent((it) => it.get('/err', () => {
      throw new Error('x');
    }));
    const port = await running.start(app);
    const seen: string[] = [];
    app.server?.prependListener('request', (_req, res) => {
      const own = Object.create(Object.getPrototypeOf(res) as object) as ServerResponse;
      own.setHeader = function (this: ServerResponse, name, value) {
        seen.push(name);
        return ServerResponse.prototype.setHeader.call(this, name, value) as ServerResponse;
      };
      Object.setPrototypeOf(res, own);
    });
    expect((await ask(port, '/err')).status).toBe(500);
    expect(seen).toContain('Content-Type');
  });

  test('while it answers as the fallback, a late rejection of middleware is a 500 like any other', async () => {
    const inner = express();
    let called: () => void = () => undefined;
    const entered = new Promise<void>((resolve) => {
      called = resolve;
    });
    inner.use(() => called());
    const port = await running.app((app) => {
      app.use(async (_req, _res, next) => {
        next();
        await entered;
        throw new Error('too late');
      });
      app.fallback(inner);
    });
    expect((await ask(port, '/x')).status).toBe(500);
  });

  test('reads a body of its own', async () => {
    const inner = express();
    inner.use(express.json());
    inner.post('/in', (req, res) => void res.json(req.body));
    const port = await running.app((app) => {
      app.use('/sub', inner as never);
      app.post('/sub/**', (req, res) => res.json(['outer', req.body]));
    });
    expect((await post(port, '/sub/in', '{"a":1}')).json).toEqual({ a: 1 });
    expect((await post(port, '/sub/x', '{"a":1}')).json).toEqual(['outer', { a: 1 }]);
  });
});

describe('an application mounted in another', () => {
  test('is middleware with a mount path, and its own app', async () => {
    const inner = silent(own);
    const outer = silent((app) => {
      app.use('/sub', inner);
      app.get('/sub/**', (req, res) => res.json([req.app === outer, res.app === outer, req.url, req.params]));
    });
    const port = await running.start(outer);
    expect((await ask(port, '/sub/own/7?a=1')).json).toEqual({ ...OWN, original: '/sub/own/7?a=1', base: '/sub' });
    expect((await ask(port, '/sub/none')).json).toEqual([true, true, '/sub/none', { '**': 'none' }]);
  });

  test('checks its own signatures against its mount-relative path, over the target as received', async () => {
    const secret = 'k'.repeat(32);
    const security = { requestSignature: { secret }, routeConfig: { requestSignature: { includeRoutes: ['/own/*'] } } };
    const port = await running.start(silent((app) => app.use('/sub', silent(own, { security }))));
    const url = '/sub/own/7?a=1';
    expect((await ask(port, url)).status).toBe(401);
    expect((await ask(port, url, { headers: signRequest({ secret, method: 'GET', url }) })).json).toMatchObject({ id: '7' });
    expect((await ask(port, url, { headers: signRequest({ secret, method: 'GET', url: '/own/7?a=1' }) })).status).toBe(401);
    const body = '{"k":1}';
    expect((await post(port, url, body, 'application/json', signRequest({ secret, method: 'POST', url, body }))).json).toMatchObject({ body: { k: 1 } });
    expect((await post(port, url, '{"k":2}', 'application/json', signRequest({ secret, method: 'POST', url, body }))).status).toBe(401);
    expect((await ask(port, '/sub/other')).status).toBe(404);
  });

  test('hands its errors out', async () => {
    const inner = silent((app) => app.get('/', async () => {
      throw new Error('inner');
    }));
    const port = await running.app((app) => {
      app.use('/sub', inner);
      app.use((error: unknown, req: Request, res: Response, _next: unknown) => res.json([(error as Error).message, req.url]));
    });
    expect((await ask(port, '/sub')).json).toEqual(['inner', '/sub']);
  });
});

describe('the suffix .xJson and what is mounted', () => {
  const inner = (): Application => silent((app) => app.get('/in', (_req, res) => res.json({ big: 1 })));

  test('an inner application that takes neither path leaves the outer one its own', async () => {
    const outer = silent((app) => {
      app.use(inner());
      app.use('/a', inner());
      app.get(['/x.xJson', '/a/f.xJson'], (req, res) => {
        res.set('X-Url', req.url).json({ own: true });
      });
    });
    const port = await running.serve(outer);
    expect((await ask(port, '/x.xJson')).json).toEqual({ own: true });
    expect((await ask(port, '/a/f.xJson')).json).toEqual({ own: true });
    expect((await ask(port, '/a/in.xJson')).json).toEqual({ big: 1 });
  });

  test('an inner application does not lead past what stands above it', async () => {
    const guard: Handler = (_req, res) => void res.status(403).end();
    const handOn = (to: Application): Handler => (req, res, next) => {
      req.baseUrl = '/a';
      req.url = req.originalUrl.slice(2);
      to(req, res, next);
    };
    const shapes: ((app: Application) => unknown)[] = [
      (app) => app.use('/a/in', guard).use('/a', inner()),
      (app) => app.all('/a/in', guard).use('/a', inner()),
      (app) => app.use('/a', Router().use('/in', guard)).use('/a', inner()),
      (app) => app.use('/a/in', guard).use('/a', Router().use(inner())),
      (app) => app.use('/a/in', guard).use('/a', silent((middle) => middle.use(inner()))),
      (app) => app.use('/a', silent((middle) => middle.use('/in', guard).use(inner()))),
      (app) => app.use('/a/in', guard).all('/a/**', handOn(inner())),
      (app) => app.use('/a/in', guard).use('/a', express().use(inner() as never) as never),
      (app) => app.use('/a', express().use('/in', guard as never).use(inner() as never) as never),
      (app) => app.use('/a', Router({ strict: true }).use('/in', guard)).use('/a', inner()),
      (app) => app.use('/a', silent((one) => one.use('/in', guard))).use('/a', inner()),
    ];
    for (const shape of shapes) {
      const port = await running.serve(silent((app) => {
        shape(app);
        // It takes the path as sent, so that the suffix is not taken off before.
        app.get('/**', (_req, res) => res.send('as sent'));
      }));
      expect((await ask(port, '/a/in')).status).toBe(403);
      expect((await ask(port, '/a/in.xJson')).body).toBe('as sent');
    }
  });

  test('so it does for an Express application around it', async () => {
    const outer = express();
    outer.use(inner());
    outer.get('/x.xJson', (req, res) => void res.json({ url: req.url }));
    const port = await running.serve(outer);
    expect((await ask(port, '/x.xJson')).json).toEqual({ url: '/x.xJson' });
  });

  test('a fallback sees the target as sent', async () => {
    const app = silent((it) => it.fallback((req, res) => res.end(req.url)));
    const port = await running.serve(app);
    expect((await ask(port, '/x.xJson?q')).body).toBe('/x.xJson?q');
  });
});

describe('app.request and app.response', () => {
  test('are what its requests and responses inherit from', async () => {
    const app = silent((it) => {
      Object.assign(it.request, { greeting: 'hello' });
      Object.assign(it.response, { greet(this: Response) { this.send((this.req as unknown as { greeting: string }).greeting); } });
      it.get('/', (_req, res) => (res as unknown as { greet(): void }).greet());
    });
    const other = silent((it) => it.get('/', (req, res) => void res.json('greeting' in req)));
    expect((await ask(await running.serve(app), '/')).body).toBe('hello');
    expect((await ask(await running.serve(other), '/')).json).toBe(false);
  });

  test('are there for an Express application in an Express application that a late next has come before', async () => {
    const nested = express().use(express());
    const slow = express().use((_req, _res, next) => void setImmediate(next)).use(nested);
    const app = silent((it) => {
      it.use((_req, _res, next) => {
        next();
        process.nextTick(next);
      });
      it.use(slow as never);
    });
    expect((await ask(await running.serve(app), '/')).status).toBe(404);
  });
});
