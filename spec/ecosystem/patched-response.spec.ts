import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type ServerResponse, STATUS_CODES } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { isDeepStrictEqual } from 'node:util';
import type { Express, RequestHandler } from 'express';
import { answerErrors, ExpressOracle, type Side } from '../support/express-oracle';
import { Running } from '../support/running';
import { ask } from '../support/wire';

const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
const TEXT = 'Größe '.repeat(2000);
const running = new Running();
let oracle: ExpressOracle | null = null;

beforeAll(() => writeFileSync(join(folder, 'text.txt'), TEXT));

afterEach(async () => {
  await running.close();
  await oracle?.close();
  oracle = null;
});

afterAll(() => rmSync(folder, { recursive: true }));

/** All the ways to answer that Express and waypost share. */
function answers(app: Express): void {
  app.get('/send', (_req, res) => void res.send('Größe'));
  app.get('/bytes', (_req, res) => void res.send(Buffer.from([0, 255, 7])));
  app.get('/json', (_req, res) => void res.status(201).json({ a: [1] }));
  app.get('/undefined', (_req, res) => void res.json(undefined));
  app.get('/jsonp', (_req, res) => void res.jsonp({ a: 1 }));
  app.get('/long', (_req, res) => void res.json(TEXT));
  app.get('/nothing', (_req, res) => void res.send());
  app.get('/none', (_req, res) => void res.sendStatus(204));
  app.get('/status', (_req, res) => void res.sendStatus(418));
  app.get('/redirect', (_req, res) => void res.redirect(301, '/send'));
  app.get('/file', (_req, res) => void res.sendFile('text.txt', { root: folder }));
  app.get('/plain', (_req, res) => void res.writeHead(202, 'Fine', { 'X-One': '1' }).end('plain'));
  app.get('/array', (_req, res) => void res.writeHead(200, ['X-One', '1', 'X-Two', '2']).end());
  app.get('/chunks', (_req, res) => {
    res.setHeader('X-One', ['1', '2']);
    res.write('one ');
    res.write(Buffer.from('two '));
    res.write('f3', 'hex');
    res.end('end', () => undefined);
  });
  app.get('/pipe', (_req, res) => void Readable.from(['a', 'b'.repeat(50_000), 'c']).pipe(res));
  app.get('/cookie', (_req, res) => void res.cookie('a', '1').append('Set-Cookie', 'b=2').vary('Accept').links({ next: '/2' }).json(null));
  app.get('/broken', () => {
    throw new Error('broken');
  });
  app.use((_req, res) => void res.status(404).send('none'));
  app.use(answerErrors);
}

const PATHS = ['/send', '/bytes', '/json', '/undefined', '/jsonp', '/long', '/nothing', '/none', '/status', '/redirect', '/file', '/plain', '/array', '/chunks', '/pipe', '/cookie', '/broken', '/nowhere'];

/** Without ETags Express leaves files without them too. */
const TAGLESS = PATHS.filter((path) => path !== '/file');

/** What middleware sees that replaces the methods of a response. */
class Observed {
  readonly set: Record<string, unknown> = {};
  readonly heads: unknown[] = [];
  readonly atHead: Record<string, unknown>[] = [];
  bytes = '';
  ends = 0;

  /** Replaces the methods as middleware does: own properties that call the ones they found. */
  static on(res: ServerResponse): Observed {
    const seen = new Observed();
    const { setHeader, removeHeader, writeHead, write, end } = res;
    res.setHeader = function (name: string, value: never) {
      seen.set[name.toLowerCase()] = value;
      return setHeader.call(this, name, value);
    };
    res.removeHeader = function (name: string) {
      delete seen.set[name.toLowerCase()];
      removeHeader.call(this, name);
    };
    res.writeHead = function (this: ServerResponse, status: number, ...rest: never[]) {
      seen.heads.push([status, ...rest]);
      seen.atHead.push({ ...this.getHeaders() });
      return (writeHead as (...given: unknown[]) => ServerResponse).call(this, status, ...rest);
    } as never;
    res.write = function (this: ServerResponse, chunk: unknown, ...rest: never[]) {
      seen.take(chunk, rest[0]);
      return (write as (...given: unknown[]) => boolean).call(this, chunk, ...rest);
    } as never;
    res.end = function (this: ServerResponse, chunk: unknown, ...rest: never[]) {
      seen.ends++;
      seen.take(chunk, rest[0]);
      return (end as (...given: unknown[]) => ServerResponse).call(this, chunk, ...rest);
    } as never;
    return seen;
  }

  take(chunk: unknown, encoding: unknown): void {
    if (chunk instanceof Uint8Array) this.bytes += Buffer.from(chunk).toString('latin1');
    else if (typeof chunk === 'string') this.bytes += Buffer.from(chunk, typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8').toString('latin1');
  }
}

/** Sends every request, and a HEAD and a conditional one for what has a tag. */
async function askAll(oracle: ExpressOracle, paths = PATHS): Promise<number> {
  let asked = 0;
  for (const path of paths) {
    const { headers } = await oracle.ask(path);
    await oracle.ask(path, { method: 'HEAD' });
    asked += 2;
    if (headers['etag'] === undefined) continue;
    await oracle.ask(path, { headers: { 'if-none-match': String(headers['etag']) } });
    asked++;
  }
  return asked;
}

// Without ETags the head of a response that nobody listens to goes out by a shorter way.
describe.each([['with ETags', 'weak'], ['without', false]] as const)('%s, middleware that replaces methods of the response', (_with, etag) => {
  const paths = etag === false ? TAGLESS : PATHS;

  test('sees headers, head, bytes and end as in Express, in all ways to answer', async () => {
    oracle = await ExpressOracle.start((app, side) => {
      app.use((req, res, next) => {
        const seen = Observed.on(res);
        res.on('close', () => side.note({ request: `${req.method} ${req.originalUrl}`, ...seen }));
        next();
      });
      answers(app);
    }, { etag });
    const asked = await askAll(oracle, paths);
    const notes = (await oracle.notes(asked)) as (Observed & { request: string })[];
    expect(asked).toBeGreaterThan(etag === false ? 29 : 40);
    expect(notes.filter(({ heads, ends }) => heads.length !== 1 || ends !== 1)).toEqual([]);
  });

  test('may change what goes out: a longer body, another status, other headers', async () => {
    oracle = await ExpressOracle.start((app) => {
      app.use(shouting);
      answers(app);
    }, { etag });
    await askAll(oracle, paths);
    expect(await oracle.ask('/json')).toMatchObject({ status: 201, headers: { 'x-shouted': '9' }, body: '{"A":[1]}!!' });
    expect((await oracle.ask('/chunks')).body).toMatch(/^ONE TWO .*END!!$/);
  });

  test('may hold the head back, and answer later', async () => {
    oracle = await ExpressOracle.start((app) => {
      app.use(late);
      answers(app);
    }, { etag });
    await askAll(oracle, paths);
    expect((await oracle.ask('/json')).headers).toHaveProperty('x-late', 'yes');
  });

  test('may slow writes down, and is waited for', async () => {
    oracle = await ExpressOracle.start((app, side) => {
      app.use(slow(side));
      answers(app);
    }, { etag });
    expect((await oracle.ask('/pipe')).body).toBe(`a${'b'.repeat(50_000)}c`);
    if (etag !== false) await oracle.ask('/file');
  });

  test('may join what it hears as buffers, where Express gives it buffers', async () => {
    oracle = await ExpressOracle.start((app, side) => {
      app.use((req, res, next) => {
        const chunks: Buffer[] = [];
        const { write, end } = res;
        res.write = function (this: ServerResponse, ...given: [Buffer]) {
          chunks.push(given[0]);
          return write.apply(this, given as never);
        } as never;
        res.end = function (this: ServerResponse, ...given: [Buffer?]) {
          if (given[0]) chunks.push(given[0]);
          side.note([req.method, req.originalUrl, Buffer.concat(chunks).toString()]);
          return end.apply(this, given as never);
        } as never;
        next();
      });
      answers(app);
    }, { etag });
    // Without ETags Express makes buffers only of longer texts.
    const buffered = etag === false ? ['/long', '/bytes', '/nothing', '/none', '/file'] : ['/send', '/json', '/jsonp', '/undefined', '/long', '/bytes', '/nothing', '/none', '/status', '/cookie', '/broken', '/nowhere', '/file'];
    const asked = await askAll(oracle, buffered.filter((path) => paths.includes(path)));
    const notes = await oracle.notes(asked);
    expect(notes).toContainEqual(['GET', '/long', JSON.stringify(TEXT)]);
  });

  test('may keep what res.send is given, by res.json and res.sendStatus too', async () => {
    oracle = await ExpressOracle.start((app, side) => {
      app.use((_req, res, next) => {
        const { send } = res;
        res.send = function (data: unknown) {
          side.note(data);
          return send.call(this, data);
        };
        next();
      });
      answers(app);
    }, { etag });
    for (const path of ['/send', '/status', '/json', '/undefined', '/jsonp']) await oracle.ask(path);
    expect(await oracle.each(async (_port, { seen }) => seen)).toEqual(['Größe', "I'm a Teapot", '{"a":[1]}', undefined, '{"a":1}']);
  });

  test('may wrap res.json, to answer something else', async () => {
    oracle = await ExpressOracle.start((app) => {
      app.use((_req, res, next) => {
        const { json } = res;
        res.json = function (data: unknown) {
          return json.call(this, { wrapped: data });
        };
        next();
      });
      answers(app);
    }, { etag });
    // On Express jsonp does not go by json.
    expect((await oracle.ask('/jsonp')).body).toBe('{"a":1}');
    expect((await oracle.ask('/json')).body).toBe('{"wrapped":{"a":[1]}}');
  });
});

describe('middleware that replaces nothing', () => {
  test.each([['finish'], ['close'], ['prefinish']])('finds at %s the fields that went out, as in Express', async (event) => {
    oracle = await ExpressOracle.start((app, side) => {
      app.use((req, res, next) => {
        res.on(event, () => {
          const names = res.getHeaderNames();
          side.note({
            request: `${req.method} ${req.originalUrl}`,
            fields: { ...res.getHeaders() },
            names: [...names].sort(),
            found: names.map((name) => [name.toUpperCase(), res.getHeader(name.toUpperCase()), res.hasHeader(name)]).sort(),
            length: res.get('Content-Length'),
            // HTTP/2 has no reason phrases.
            sent: [res.headersSent, res.statusCode, side.isHttp2 ? STATUS_CODES[res.statusCode] : res.statusMessage, res.writableEnded],
          });
        });
        next();
      });
      answers(app);
    }, { etag: false });
    const asked = await askAll(oracle, TAGLESS);
    await oracle.notes(asked);
  });

  test.each(['setHeader', 'writeHead', 'end', 'write', 'removeHeader'] as const)('but %s, hears by it what it would on Express', async (method) => {
    oracle = await ExpressOracle.start((app, side) => {
      app.use((req, res, next) => {
        const heard: unknown[] = [];
        const found = res[method] as (...given: unknown[]) => unknown;
        (res as unknown as Record<string, unknown>)[method] = function (this: unknown, ...given: unknown[]) {
          const what = method === 'setHeader' ? given : method === 'writeHead' ? [...given, { ...res.getHeaders() }] : Boolean(given[0]);
          // Express sets the type of JSON twice.
          if (!heard.some((one) => isDeepStrictEqual(one, what))) heard.push(what);
          return found.apply(this, given);
        };
        res.on('close', () => side.note([`${req.method} ${req.originalUrl}`, method === 'write' || method === 'removeHeader' ? heard.length > 0 : heard]));
        next();
      });
      answers(app);
    }, { etag: false });
    const asked = await askAll(oracle, TAGLESS);
    await oracle.notes(asked);
  });
});

/** Upper-cases what is written, and counts it in a header. */
const shouting: RequestHandler = (_req, res, next) => {
  const { write, end } = res;
  const loud = (chunk: unknown): Buffer => Buffer.from((Buffer.isBuffer(chunk) ? chunk : Buffer.from(String(chunk ?? ''))).toString('latin1').replace(/[a-z]/g, (letter) => letter.toUpperCase()), 'latin1');
  const mend = (size: number): void => {
    if (res.headersSent) return;
    res.removeHeader('Content-Length');
    res.removeHeader('ETag');
    res.setHeader('X-Shouted', size);
  };
  res.write = function (this: ServerResponse, chunk: unknown) {
    const bytes = loud(chunk);
    mend(bytes.length);
    return write.call(this, bytes as never, 'latin1');
  } as never;
  res.end = function (this: ServerResponse, chunk: unknown) {
    const bytes = Buffer.concat([loud(chunk), Buffer.from('!!')]);
    mend(bytes.length - 2);
    if (res.statusCode === 204 || res.statusCode === 304) return end.call(this, undefined as never, 'latin1');
    return end.call(this, bytes as never, 'latin1');
  } as never;
  next();
};

/** Keeps all that is written until the end, and a turn of the event loop longer. */
const late: RequestHandler = (_req, res, next) => {
  const { write, end } = res;
  const kept: [unknown, unknown][] = [];
  res.write = ((chunk: unknown, encoding: unknown) => kept.push([chunk, typeof encoding === 'string' ? encoding : undefined]) > 0) as never;
  res.end = ((chunk: unknown, encoding: unknown) => {
    setImmediate(() => {
      if (!res.headersSent) res.setHeader('X-Late', 'yes');
      for (const [one, by] of kept) write.call(res, one as never, by as never);
      if (typeof chunk === 'function' || chunk === undefined || chunk === null) end.call(res, undefined as never, 'utf8');
      else end.call(res, chunk as never, (typeof encoding === 'string' ? encoding : undefined) as never);
    });
    return res;
  }) as never;
  next();
};

/** Takes one write at a time, and asks for patience after each. */
function slow(side: Side): RequestHandler {
  return (_req, res, next) => {
    const { write } = res;
    let busy = false;
    res.write = function (this: ServerResponse, chunk: unknown) {
      if (busy) side.note('not waited for');
      busy = true;
      write.call(this, chunk as never, 'utf8');
      setImmediate(() => {
        busy = false;
        this.emit('drain');
      });
      return false;
    } as never;
    next();
  };
}

describe('xJson', () => {
  const data = { rows: Array.from({ length: 20_000 }, (_, id) => ({ id: BigInt(id) })) };

  test.each([['small', { big: 1n }], ['in chunks', data]])('goes through the methods that middleware replaced: %s', async (_what, value) => {
    const notes: Observed[] = [];
    const port = await running.app((app) => {
      app.use((_req, res, next) => {
        notes.push(Observed.on(res));
        next();
      });
      app.get('/', (_req, res) => res.xJson(value));
    });
    const { headers, bytes } = await ask(port, '/');
    const [seen] = notes as [Observed];
    expect(seen.bytes).toBe(bytes.toString('latin1'));
    expect([seen.heads, seen.ends]).toEqual([[[200]], 1]);
    expect(String(seen.set['content-length'])).toBe(headers['content-length']);
    expect(seen.set['content-type']).toBe('application/json');
  });

  test('waits for a patched write that asks for patience', async () => {
    let waiting = 0;
    let rude = 0;
    const port = await running.app((app) => {
      app.use((_req, res, next) => {
        const { write } = res;
        res.write = function (this: ServerResponse, chunk: unknown) {
          rude += waiting;
          waiting = 1;
          (write as (chunk: unknown) => boolean).call(this, chunk);
          setImmediate(() => {
            waiting = 0;
            this.emit('drain');
          });
          return false;
        } as never;
        next();
      });
      app.get('/', (_req, res) => res.xJson(data, { chunkSize: 10_000 }));
    });
    const { json } = await ask(port, '/');
    expect((json as typeof data).rows).toHaveLength(20_000);
    expect(rude).toBe(0);
  });
});

