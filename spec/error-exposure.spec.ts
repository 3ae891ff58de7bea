import { STATUS_CODES } from 'node:http';
import { runInNewContext } from 'node:vm';
import parsers from 'body-parser';
import fc from 'fast-check';
import createError from 'http-errors';
import { createServer, express, type Handler, HttpError, json, type NextFunction, raw, text, urlencoded } from 'waypost';
import { kCaptured } from '../lib/http/body/capture';
import { Running } from './support/running';
import { ask, post } from './support/wire';

const running = new Running();

afterEach(() => running.close());

function raise(value: unknown): never {
  throw value;
}

const DETAIL = 'inner detail of 10.0.0.7';
const HEADERS = { 'X-Inner': DETAIL, 'Set-Cookie': 'session=of-another-service', 'WWW-Authenticate': 'Bearer realm="inner"' };

/** As the client of another service throws it. */
function foreign(fields: object): Error {
  return Object.assign(new Error(DETAIL), { headers: HEADERS, response: { data: DETAIL }, statusMessage: DETAIL }, fields);
}

async function answersTo(make: () => unknown, env: string): Promise<{ status: number; text: string; headers: string; json: { error: string; message: string } }> {
  const port = await running.app((app) => app.get('/', () => raise(make())), { env });
  const answer = await ask(port, '/');
  return { status: answer.status, text: answer.body, headers: JSON.stringify(answer.headers), json: answer.json as { error: string; message: string } };
}

describe('of an error that does not say expose: true, a client reads the status alone', () => {
  const expose = fc.constantFrom<PropertyDescriptor | null>(
    null, { value: undefined }, { value: false }, { value: null }, { value: 1 }, { value: 'true' }, { value: {} }, { value: [true] }, { get: () => raise(new Error('no')) },
  );
  const status = fc.oneof(fc.integer({ min: 400, max: 599 }), fc.constantFrom(200, 302, 99, 600, NaN, '404', undefined));

  test('in production, test and all but development', async () => {
    await fc.assert(fc.asyncProperty(status, expose, fc.constantFrom('status', 'statusCode'), fc.constantFrom('production', 'test', 'staging'), async (code, descriptor, name, env) => {
      const { status: answered, text, headers, json } = await answersTo(() => {
        const error = foreign({ [name]: code });
        return descriptor === null ? error : Object.defineProperty(error, 'expose', { ...descriptor, enumerable: true });
      }, env);
      await running.close();
      expect(answered).toBe(typeof code === 'number' && code >= 400 && code <= 599 ? code : 500);
      expect(text + headers).not.toMatch(/inner|another-service/i);
      expect(json.message).toBe(json.error);
    }), { numRuns: 60 });
  });

  test('in development all of it', async () => {
    const { json, headers } = await answersTo(() => foreign({ status: 404 }), 'development');
    expect(json.message).toBe(DETAIL);
    expect(headers).toContain('x-inner');
  });

  test('where http-errors says so, by 5xx or by hand', async () => {
    expect((await answersTo(() => createError(503, DETAIL, { headers: HEADERS }), 'production')).text).not.toContain('inner');
    expect((await answersTo(() => createError(404, DETAIL, { expose: false, headers: HEADERS }), 'production')).headers).not.toContain('inner');
  });
});

describe('of an error that says expose: true, it reads message and headers', () => {
  test.each<[string, number, () => unknown]>([
    ['HttpError', 418, () => Object.assign(new HttpError(418, 'TEAPOT', DETAIL), { headers: HEADERS })],
    ['http-errors', 409, () => createError(409, DETAIL, { headers: HEADERS })],
    ['an error of the program\'s own', 404, () => foreign({ status: 404, expose: true })],
    ['an error of another realm', 404, () => Object.assign(runInNewContext('new TypeError(detail)', { detail: DETAIL }) as Error, { status: 404, expose: true, headers: HEADERS })],
    ['one that is an error by its prototype alone', 404, () => Object.assign(Object.create(Error.prototype), { message: DETAIL, status: 404, expose: true, headers: HEADERS }) as unknown],
    ['one that says so above 500', 503, () => createError(503, DETAIL, { expose: true, headers: HEADERS })],
  ])('%s', async (_, status, make) => {
    expect(await answersTo(make, 'production')).toMatchObject({ status, json: { message: DETAIL }, headers: expect.stringContaining('x-inner') as unknown });
  });

  test('but of nothing that is no error, such as a body that is thrown', async () => {
    const thrown = { status: 403, expose: true, message: DETAIL, stack: DETAIL, headers: HEADERS };
    const raisers: Record<string, Handler> = {
      body: (req) => raise(req.body),
      made: () => raise(Object.assign(Object.create(null) as object, thrown)),
      called: (_req, _res, next) => next(thrown),
      rejected: async () => Promise.reject(thrown as unknown as Error),
      function: () => raise(Object.assign(() => undefined, thrown)),
    };
    for (const [env, made] of [['production', createServer], ['production', express], ['development', createServer]] as const) {
      const app = made({ env, logging: { level: 'silent' } });
      for (const [name, handler] of Object.entries(raisers)) app.post(`/${name}`, json(), handler);
      const port = await running.start(app);
      for (const name of Object.keys(raisers)) {
        const { status, headers, json: shown } = await post(port, `/${name}`, JSON.stringify(thrown));
        expect(status).toBe(name === 'function' ? 500 : 403);
        expect(JSON.stringify(headers)).not.toMatch(/inner|another-service/i);
        if (env !== 'development') expect(shown).toEqual({ error: STATUS_CODES[status], message: STATUS_CODES[status] });
      }
      await running.close();
    }
  });

  test('waypost\'s own, and what body-parser raises', async () => {
    const port = await running.app((app) => {
      app.post('/parsed', (req, res) => res.json(req.body));
      app.post('/by-hand', parsers.json({ type: '*/*' }), (req, res) => res.json(req.body));
      app.get('/typed', (_req, res) => res.format({ 'text/csv': () => res.send('a') }));
    }, { env: 'production' });
    expect((await post(port, '/parsed', '{"a')).json).toMatchObject({ message: expect.stringContaining('not valid JSON') as unknown });
    expect((await post(port, '/by-hand', '{"a', 'application/odd')).json).toMatchObject({ error: 'Bad Request', message: expect.stringContaining('JSON') as unknown });
    expect((await ask(port, '/typed', { headers: { accept: 'image/png' } })).json).toMatchObject({ message: 'The response can be had as text/csv' });
  });
});

/** An error that has a type by its class. */
class Typed extends Error {}
Object.assign(Typed.prototype, { type: 'by.its.class' });

describe('what a function that a body parser was given throws, or the stream raises that it reads, says nothing, whatever it is and says', () => {
  const own = { json, raw, text, urlencoded };
  const MAKES: readonly ((fields: object) => unknown)[] = [
    () => DETAIL,
    (fields) => Object.assign(new Error(DETAIL), fields),
    (fields) => Object.assign(new SyntaxError(DETAIL), fields),
    (fields) => Object.assign(new Typed(DETAIL), fields),
    (fields) => createError(403, DETAIL, fields),
    (fields) => createError(new Error(DETAIL), fields),
    (fields) => Object.assign(new HttpError(403, 'OF_MINE', DETAIL), fields),
    () => {
      try {
        return JSON.parse(DETAIL) as unknown;
      } catch (error) {
        return error;
      }
    },
  ];
  const fields = fc.record({
    status: fc.constantFrom(400, 403, 422, 499, 500, 503), expose: fc.boolean(), type: fc.constantFrom<unknown>(7, { a: 1 }, 'of.the.program', 'entity.parse.failed', 'entity.verify.failed'), headers: fc.constant(HEADERS),
  }, { requiredKeys: [] });
  /** What error middleware may make of it before it passes it on. */
  const CHANGES: readonly ((error: Record<string, unknown>) => unknown)[] = [
    () => undefined, (error) => (error['status'] = 401), (error) => (error['statusCode'] = 422), (error) => delete error['body'], (error) => delete error['type'],
    (error) => (error['body'] = '[redacted]'), (error) => (error['body'] = String(error['body'])), (error) => Object.assign(error, { status: 409, statusCode: 409, type: 'another' }),
  ];
  // What is called: of a body of one value that is no object as well.
  const body = fc.constantFrom('{"a":"b"}', '[1,[2]]', '1', '""');

  test.each(Object.entries({ createServer, express }))('in %s', async (_, make) => {
    await fc.assert(fc.asyncProperty(
      fc.constantFrom(own, parsers), fc.constantFrom('json', 'raw', 'text', 'urlencoded'), fc.constantFrom('verify', 'reviver', 'the stream'), fc.constantFrom(...MAKES), fields, fc.boolean(), body, fc.constantFrom(...CHANGES),
      async (of, name, given, error, what, strict, sent, change) => {
        const app = make({ env: 'production', logging: { level: 'silent' } });
        // Another's body-parser says the same of these as of its own.
        if (given === 'the stream' && of === parsers) return;
        if (given === 'the stream') app.use(((req, _res, next) => {
          // As where somebody has read of it: then the parser reads the stream itself.
          Object.assign(req, { [kCaptured]: 'consumed' });
          req.once('data', () => req.emit('error', error(what)));
          next();
        }) as Handler);
        const parser = of[name as 'json']({ type: '*/*', strict, [given]: (): never => raise(error(what)) }) as Handler;
        app.post('/', parser, (_req, res) => res.send('taken'));
        app.post('/within', (req, res, next) => parser(req, res, next), (_req, res) => res.send('taken'));
        // What calls waypost's own may take anything from the error; from another's neither type nor body.
        app.post('/changed', (req, res, next) => parser(req, res, (failed: unknown) => {
          if (failed !== undefined) (of === own ? change : CHANGES[1])?.(failed as Record<string, unknown>);
          next(failed);
        }), (_req, res) => res.send('taken'));
        app.use((failed: unknown, _req: unknown, _res: unknown, next: NextFunction) => {
          change(failed as Record<string, unknown>);
          next(failed);
        });
        const port = await running.start(app as ReturnType<typeof createServer>);
        const isRefused = given !== 'reviver' || (name === 'json' && (!strict || /[{[]/.test(sent)));
        for (const path of ['/', '/within', '/changed']) {
          const answer = await post(port, path, sent, 'application/odd');
          if (isRefused) expect(answer.status).toBeGreaterThanOrEqual(400);
          if (isRefused) expect((answer.json as { message: string }).message).toBe((answer.json as { error: string }).error);
          else expect(answer.body === 'taken').toBe(name !== 'json');
          expect(answer.body + JSON.stringify(answer.headers)).not.toMatch(/inner|another-service/i);
        }
        await running.close();
      },
    ), { numRuns: 300 });
  });

  test.each<[string, (options: object) => object]>([
    ['as they are', (options) => options],
    ['frozen', Object.freeze],
    ['inherited', (options) => Object.create(options) as object],
    ['of a class with a private field', (options) => new (class { readonly #given = options as { verify: unknown }; get verify(): unknown { return this.#given.verify; } get type(): string { return '*/*'; } })()],
    ['of a class', (options) => new (class { get verify(): unknown { return (options as { verify: unknown }).verify; } get type(): string { return '*/*'; } })()],
  ])('and options are taken %s', async (_, given) => {
    const app = createServer({ env: 'production', logging: { level: 'silent' } });
    const verified = jest.fn(() => raise(new HttpError(402, 'OF_MINE', DETAIL)));
    for (const [name, make] of Object.entries(own)) app.use(`/${name}`, make(given({ type: '*/*', verify: verified })));
    const port = await running.start(app);
    const answers = await Promise.all(Object.keys(own).map(async (name) => (await post(port, `/${name}`, '{}', 'application/odd')).json));
    expect(answers).toEqual(Object.keys(own).map(() => ({ error: 'Payment Required', message: 'Payment Required' })));
    expect(verified).toHaveBeenCalledTimes(4);
  });

  test('of verify, though it is sealed', async () => {
    const sealed = () => Object.seal(Object.assign(new Error(DETAIL), { status: 403, statusCode: 403, expose: false, type: 'mine', body: 1 }));
    for (const parser of [json, parsers.json]) {
      const port = await running.app((app) => app.use(parser({ verify: () => raise(sealed()) }) as Handler), { env: 'production' });
      expect((await post(port, '/', '{}')).json).toEqual({ error: 'Forbidden', message: 'Forbidden' });
    }
  });

  test('its own errors are shown: what is wrong with the body', async () => {
    const port = await running.app((app) => {
      app.post('/form', urlencoded({ type: '*/*', parameterLimit: 1, verify: () => undefined }), (_req, res) => res.send('taken'));
      app.post('/json', json({ type: '*/*', verify: () => undefined, limit: 9 }), (_req, res) => res.send('taken'));
      app.post('/long', json({ type: '*/*', limit: '1mb' }), (_req, res) => res.send('taken'));
    }, { env: 'production' });
    const message = async (path: string, sent: string): Promise<string> => ((await post(port, path, sent, 'application/odd')).json as { message: string }).message;
    expect(await message('/form', 'a=1&b=2')).toBe('too many parameters');
    expect(await message('/json', '{"a":"bc"}')).toBe('request entity too large');
    expect(await message('/json', '{"a')).toContain('JSON');
    expect((await ask(port, '/json', { method: 'POST', headers: { 'content-type': 'a/b', 'content-encoding': 'odd' }, body: '{}' })).json).toMatchObject({ message: 'unsupported content encoding "odd"' });
    // As of a reviver: documented.
    expect(await message('/json', 'null')).toBe('Bad Request');
    expect(await message('/long', `["${'x'.repeat(102_398)}`)).toContain('JSON');
    expect(await message('/long', `["${'x'.repeat(102_399)}`)).toBe('Bad Request');
  });

  test.each<[string, () => unknown]>([
    ['with what a client of another service has of its answer', () => foreign({ status: 402, expose: true, type: 'card_declined', body: { code: 7 } })],
    ['of http-errors', () => createError(402, new Error(DETAIL), { type: 'card_declined', body: { code: 7 }, headers: HEADERS })],
    ['with that as bytes', () => foreign({ status: 402, statusCode: 402, expose: true, body: Buffer.from('{}') })],
    ['with a type alone', () => foreign({ status: 402, statusCode: 402, expose: true, type: 'entity.parse.failed' })],
  ])('an error of a handler that says expose: true is shown: %s', async (_, make) => {
    expect(await answersTo(make, 'production')).toMatchObject({ status: 402, json: { message: DETAIL }, headers: expect.stringContaining('x-inner') as unknown });
  });
});

test('data that cannot be written tells why in development alone', async () => {
  for (const [env, shown] of [['production', false], ['development', true]] as const) {
    const port = await running.app((app) => app.get('/', (_req, res) => res.xJson({ get it() { return raise(foreign({ status: 404, expose: true })); } })), { env });
    expect((await ask(port, '/')).body.includes('inner')).toBe(shown);
  }
});

test('a message of any length is answered', async () => {
  const app = createServer({ env: 'development', logging: { level: 'silent' } });
  app.get('/', () => raise(new Error('x'.repeat(50_000_000))));
  const port = await running.start(app);
  const answer = await ask(port, '/');
  expect([answer.status, answer.body.length < 200_000]).toEqual([500, true]);
});
