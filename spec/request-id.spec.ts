import { createServer as createHttpServer, type IncomingMessage } from 'node:http';
import connectExpress from 'express';
import fc from 'fast-check';
import pino from 'pino';
import pinoHttp from 'pino-http';
import { type CreateServerOptions, createServer, express, type LoggingOptions, signRequest } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { ask, type Question, Wire } from './support/wire';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const FIT = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.~:;=+/@-';

const running = new Running();
afterEach(() => running.close());

/** The id that a request has in a handler. */
async function idOf(requestId: LoggingOptions['requestId'], headers: Question['headers'] = {}): Promise<unknown> {
  const port = await running.app((app) => app.get('/', (req, res) => res.json({ id: req.id })), { logging: { level: 'silent', ...(requestId !== undefined && { requestId }) } });
  return ((await ask(port, '/', { headers })).json as { id: unknown }).id;
}

/** An application whose lines are kept. */
function recorded(options: CreateServerOptions = {}): { log: LogRecorder; options: CreateServerOptions } {
  const log = new LogRecorder();
  return { log, options: { ...options, logging: { logger: log, requestId: true, ...options.logging } } };
}

describe('req.id', () => {
  test('is nothing where the option is off, so that a program or package may give it', async () => {
    const port = await running.app((app) => {
      app.get('/', (req, res) => res.json([typeof req.id, typeof req.log, 'id' in req, 'log' in req]));
    });
    expect((await ask(port, '/', { headers: { 'x-request-id': 'abc' } })).json).toEqual(['undefined', 'undefined', false, false]);
  });

  test('is the header X-Request-Id with true', async () => {
    expect(await idOf(true, { 'X-REQUEST-ID': 'abc-1' })).toBe('abc-1');
  });

  test('is a header of another name', async () => {
    expect(await idOf('X-Amzn-Trace-Id', { 'x-amzn-trace-id': 'Root=1-67891233-abcdef012345678912345678;Sampled=1', 'x-request-id': 'no' })).toBe('Root=1-67891233-abcdef012345678912345678;Sampled=1');
    expect(await idOf({ header: 'CF-Ray' }, { 'cf-ray': '230b030023ae2822-SJC' })).toBe('230b030023ae2822-SJC');
  });

  test('is a UUID where there is no header, and where none is to be believed', async () => {
    expect(await idOf(true)).toMatch(UUID);
    expect(await idOf({ header: false }, { 'x-request-id': 'abc' })).toMatch(UUID);
  });

  test('is what generate returns where the header is missing', async () => {
    const generate = (req: IncomingMessage): string => `${req.method}-1`;
    expect(await idOf({ generate })).toBe('GET-1');
    expect(await idOf({ generate }, { 'x-request-id': 'abc' })).toBe('abc');
  });

  test.each([['an empty string', ''], ['a space', 'a b'], ['201 characters', 'a'.repeat(201)], ['a number', 7], ['nothing', undefined], ['a line end', 'a\nb']])('is a UUID where generate returns %s, with a warning', async (_, id) => {
    const { log, options } = recorded({ logging: { requestId: { generate: () => id as string } } });
    const port = await running.app((app) => app.get('/', (req, res) => res.send(String(req.id))), options);
    expect((await ask(port, '/')).body).toMatch(UUID);
    expect(log.messages('warn')).toEqual([expect.stringContaining('logging.requestId.generate must return a string of 1 to 200 characters')]);
  });

  test('is a UUID where generate throws, and the request is answered', async () => {
    const { log, options } = recorded({ logging: { requestId: { generate: () => { throw new Error('no ids left'); } } } });
    const port = await running.app((app) => app.get('/', (req, res) => res.send(String(req.id))), options);
    expect((await ask(port, '/')).body).toMatch(UUID);
    expect(log.lines.filter(({ level }) => level === 'error').map(({ fields }) => (fields.err as Error).message)).toEqual(['no ids left']);
  });

  test('is 1 to 200 letters, digits and signs of a header, and a UUID for any other', async () => {
    const port = await running.app((app) => app.get('/', (req, res) => res.send(String(req.id))), { logging: { level: 'silent', requestId: true } });
    const wire = await Wire.open(port);
    const told = async (value: string): Promise<string> => {
      wire.text = '';
      wire.write(Buffer.from(`GET / HTTP/1.1\r\nHost: h\r\nX-Request-Id: ${value}\r\n\r\n`, 'latin1'));
      await wire.until(/\r\n\r\n[^]/);
      return wire.text.split('\r\n\r\n')[1] ?? '';
    };
    // Node's parser takes off white space around a value; what no value may hold ends the connection.
    const letters = fc.constantFrom(...FIT, ' ', '"', '\\', '<', '%', '&', '{', ',', '\t', '\u0080', '\u009b', 'é', 'ÿ');
    const values = fc.oneof(fc.array(letters, { maxLength: 12 }), fc.array(fc.constantFrom(...FIT), { minLength: 1, maxLength: 20 }), fc.constantFrom(199, 200, 201).map((length) => Array<string>(length).fill('a')));
    await fc.assert(fc.asyncProperty(values, async (parts) => {
      const value = parts.join('').replace(/^[ \t]+|[ \t]+$/g, '');
      const fits = value.length >= 1 && value.length <= 200 && [...value].every((letter) => FIT.includes(letter));
      const id = await told(value);
      if (fits) expect(id).toBe(value);
      else expect(id).toMatch(UUID);
    }), { numRuns: 300 });
    wire.cut();
  });

  test('is a UUID where the header comes twice', async () => {
    expect(await idOf(true, { 'x-request-id': ['a', 'b'] })).toMatch(UUID);
  });

  test('is one and the same however often it is asked for, and another for each request', async () => {
    const port = await running.app((app) => {
      app.use((req, res, next) => {
        res.locals['id'] = req.id;
        next();
      });
      app.get('/', (req, res) => res.json([req.id, res.locals['id'], Object.keys(req).includes('id')]));
    }, { logging: { level: 'silent', requestId: true } });
    const [one, other] = [(await ask(port, '/')).json, (await ask(port, '/')).json] as [unknown[], unknown[]];
    expect(one).toEqual([one[0], one[0], true]);
    expect(one[0]).not.toBe(other[0]);
  });

  test('costs nothing until it is asked for', async () => {
    let made = 0;
    const port = await running.app((app) => app.get('/', (req, res) => res.json(Object.keys(req).filter((name) => name === 'id' || name === 'log'))), {
      logging: { level: 'silent', requestId: { generate: () => String(++made) } },
    });
    expect((await ask(port, '/')).json).toEqual([]);
    expect(made).toBe(0);
  });

  test('may be assigned', async () => {
    const { log, options } = recorded();
    const port = await running.app((app) => app.get('/', (req, res) => {
      (req as { id: unknown }).id = 'mine';
      req.log?.info('here');
      res.send(String(req.id));
    }), options);
    expect((await ask(port, '/', { headers: { 'x-request-id': 'theirs' } })).body).toBe('mine');
    expect(log.lines.find(({ message }) => message === 'here')?.fields).toEqual({ reqId: 'mine' });
  });

  test('is asked of no prototype', () => {
    const app = createServer({ logging: { level: 'silent', requestId: true } });
    expect([(app.request as { id?: unknown }).id, (app.request as { log?: unknown }).log]).toEqual([undefined, undefined]);
    expect({ ...app.request }).toEqual({});
  });
});

describe('req.log', () => {
  test('is a child of the logger, with the id', async () => {
    const lines: Record<string, unknown>[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
    const port = await running.app((app) => app.get('/', (req, res) => {
      req.log?.info({ step: 1 }, 'in the handler');
      req.log?.info('again');
      res.json(Object.keys(req).includes('log'));
    }), { logging: { logger, requestId: true } });
    expect((await ask(port, '/', { headers: { 'x-request-id': 'abc' } })).json).toBe(true);
    expect(lines.filter(({ reqId }) => reqId !== undefined)).toEqual([
      expect.objectContaining({ reqId: 'abc', step: 1, msg: 'in the handler' }), expect.objectContaining({ reqId: 'abc', msg: 'again' }),
    ]);
  });

  test('is a logger of the same lines where the logger given has no child', async () => {
    const { log, options } = recorded();
    const error = new Error('broken');
    const port = await running.app((app) => app.get('/', (req, res) => {
      req.log?.info('text');
      req.log?.warn({ a: 1 }, 'fields');
      req.log?.error(error, 'error');
      res.end();
    }), options);
    await ask(port, '/', { headers: { 'x-request-id': 'abc' } });
    expect(log.lines.filter(({ message }) => ['text', 'fields', 'error'].includes(message))).toEqual([
      { level: 'info', fields: { reqId: 'abc' }, message: 'text' }, { level: 'warn', fields: { reqId: 'abc', a: 1 }, message: 'fields' },
      { level: 'error', fields: { reqId: 'abc', err: error }, message: 'error' },
    ]);
  });
});

describe("the application's own lines", () => {
  test('of a failure hold the id', async () => {
    const { log, options } = recorded();
    const port = await running.app((app) => {
      app.get('/broken', () => { throw new Error('inner'); });
      app.get('/big', (_req, res) => res.json(1n));
    }, options);
    await ask(port, '/broken', { headers: { 'x-request-id': 'one' } });
    await ask(port, '/big', { headers: { 'x-request-id': 'two' } });
    expect(log.lines.filter(({ level }) => level === 'error').map(({ fields }) => [fields['reqId'], fields['method'], fields['url']])).toEqual([['one', 'GET', '/broken'], ['two', 'GET', '/big']]);
  });

  test('of a failure tell the target as it was sent, whatever a mount path has made of it', async () => {
    const { log, options } = recorded();
    const port = await running.app((app) => app.use('/api', () => { throw new Error('inner'); }), options);
    await ask(port, '/api/x?a=1');
    expect(log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields['url'])).toEqual(['/api/x?a=1']);
  });

  test('of a refused signature hold it too', async () => {
    const secret = 's'.repeat(32);
    const { log, options } = recorded({ security: { requestSignature: { secret, debug: true } } });
    const port = await running.app(() => undefined, options);
    await ask(port, '/', { headers: { 'x-request-id': 'one', ...signRequest({ secret: 'o'.repeat(32), method: 'GET', url: '/' }) } });
    expect(log.lines.find(({ message }) => message === 'The request signature was refused')?.fields['reqId']).toBe('one');
  });

  test('hold an id that a package has given, if it is a string or a number', async () => {
    const log = new LogRecorder();
    const port = await running.app((app) => {
      app.use((req, _res, next) => {
        (req as { id: unknown }).id = req.path === '/object' ? { a: 1 } : 7;
        next();
      });
      app.use(() => { throw new Error('inner'); });
    }, { logging: { logger: log } });
    await ask(port, '/');
    await ask(port, '/object');
    expect(log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields['reqId'])).toEqual([7, undefined]);
  });
});

describe('requests of others', () => {
  const options = { logging: { level: 'silent', requestId: true } } as const;

  test('have an id where they are adopted', async () => {
    const app = createServer(options);
    app.get('/', (req, res) => res.json([req.id, typeof req.log?.info]));
    const within = connectExpress().use(app);
    for (const listener of [app, within]) {
      const port = await running.serve(listener);
      expect((await ask(port, '/', { headers: { 'x-request-id': 'abc' } })).json).toEqual(['abc', 'function']);
    }
  });

  test('keep the id that they come with', async () => {
    const app = createServer(options);
    app.get('/', (req, res) => res.json(req.id));
    const server = createHttpServer((req, res) => app(Object.assign(req, { id: 7 }), res));
    const port = await running.listen(server);
    expect((await ask(port, '/', { headers: { 'x-request-id': 'abc' } })).json).toBe(7);
  });

  test('have one where they are injected', async () => {
    const app = createServer(options);
    app.get('/', (req, res) => res.json(req.id));
    expect((await app.inject({ url: '/', headers: { 'x-request-id': 'abc' } })).json()).toBe('abc');
  });

  test('of a mounted application have that of the one around', async () => {
    for (const inner of [createServer({ logging: { level: 'silent' } }), express({ logging: { level: 'silent', requestId: { header: false } } })]) {
      const app = createServer(options);
      inner.get('/', (req, res) => res.json(req.id));
      app.use((req, _res, next) => {
        void req.id;
        next();
      });
      app.use('/in', inner);
      const port = await running.start(app);
      expect((await ask(port, '/in/', { headers: { 'x-request-id': 'abc' } })).json).toBe('abc');
    }
  });

  test('are named by pino-http as req.id has it; without the option by itself, and it gives req.log', async () => {
    for (const [requestId, id, own] of [[true, 'abc', false], [false, 1, true]] as const) {
      const lines: { req?: { id: unknown }; msg: string }[] = [];
      const port = await running.app((app) => {
        app.use(pinoHttp({}, { write: (line: string) => void lines.push(JSON.parse(line) as { req: { id: unknown }; msg: string }) }));
        app.get('/', (req, res) => {
          req.log.info('mine');
          res.json(req.id);
        });
      }, { logging: { level: 'silent', requestId } });
      expect((await ask(port, '/', { headers: { 'x-request-id': 'abc' } })).json).toBe(id);
      expect(lines.map(({ req }) => req?.id)).toContain(id);
      expect(lines.some(({ msg }) => msg === 'mine')).toBe(own);
    }
  });
});
