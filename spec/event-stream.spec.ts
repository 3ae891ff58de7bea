import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { createGunzip } from 'node:zlib';
import { type IncomingMessage, request } from 'node:http';
import compression from 'compression';
import fc from 'fast-check';
import { type Application, createServer, type EventStream, express, type Handler, type Response, XJsonResponseHandler } from 'waypost';
import { LogRecorder, Running } from './support/running';
import { ask, head, Wire, stalled } from './support/wire';

const running = new Running();

afterEach(() => running.close());

const MAKERS = [['createServer', createServer], ['express', express]] as const;

async function started(make: typeof createServer, handler: Handler, around: (app: Application) => void = () => undefined): Promise<{ app: Application; port: number; log: LogRecorder }> {
  const log = new LogRecorder();
  const app = make({ env: 'test', logging: { logger: log } });
  around(app);
  app.get('/', handler);
  return { app, port: await running.start(app), log };
}

/** The events that a client makes of a text, by the algorithm of the HTML standard. */
function parse(text: string): { id: string; event: string; data: string }[] {
  const events: { id: string; event: string; data: string }[] = [];
  let [id, event, data] = ['', '', ''];
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (line === '') {
      if (data !== '') events.push({ id, event: event || 'message', data: data.slice(0, -1) });
      [event, data] = ['', ''];
    } else if (name === 'data') data += `${value}\n`;
    else if (name === 'event') event = value;
    else if (name === 'id' && !value.includes('\0')) id = value;
  }
  return events;
}

async function* of(...values: unknown[]): AsyncGenerator {
  for (const value of values) yield await Promise.resolve(value);
}

describe.each(MAKERS)('%s: res.events', (_name, make) => {
  test('sends texts, data and events', async () => {
    const { port } = await started(make, (_req, res) => res.events(of('text', { a: 2n ** 64n }, [1], null, 7, { id: 1, event: 'tick', data: 'x', retry: 9 }, { id: '', data: { b: 1 } }, { data: 1, other: 2 }, { id: 4 }), { retry: 3000 }));
    const { status, headers, body } = await ask(port, '/');
    expect([status, headers['content-type'], headers['cache-control'], headers['x-accel-buffering'], headers['content-length']]).toEqual([200, 'text/event-stream', 'no-store, no-transform', 'no', undefined]);
    expect(body).toBe('retry: 3000\n\ndata: text\n\ndata: {"a":"18446744073709551616"}\n\ndata: [1]\n\ndata: null\n\ndata: 7\n\nevent: tick\nid: 1\nretry: 9\ndata: x\n\nid: \ndata: {"b":1}\n\ndata: {"data":1,"other":2}\n\ndata: {"id":4}\n\n');
  });

  test.each<[string, () => Iterable<unknown> & object]>([['an array', () => ['a', { id: 1, data: 'b' }]], ['a generator', function* () { yield 'a'; yield { id: 1, data: 'b' }; }], ['a Set', () => new Set(['a', { id: 1, data: 'b' }])]])('sends what %s holds', async (_kind, source) => {
    for (const options of [undefined, { retry: 5 }]) {
      const { port } = await started(make, (_req, res) => void (options === undefined ? res.events(source()) : res.events(source(), options)));
      expect((await ask(port, '/')).body.replace(/^retry: 5\n+/, '')).toBe('data: a\n\nid: 1\ndata: b\n\n');
    }
  });

  test('sends the head at once, and events by send()', async () => {
    let given: EventStream | undefined;
    const { port } = await started(make, (_req, res) => void (given = res.events()));
    const wire = await Wire.open(port);
    wire.write(head('GET /', { 'Last-Event-ID': 'ä 1' }));
    await wire.until('\r\n\r\n');
    const events = given as EventStream;
    expect([events.closed, events.lastEventId]).toEqual([false, 'ä 1']);
    await events.send({ id: 2, data: 'a\nb' });
    await wire.until('id: 2\ndata: a\ndata: b\n\n');
    await events.comment('one\r\ntwo');
    await wire.until(': one\n: two\n\n');
    events.close();
    events.close();
    await wire.until('0\r\n\r\n');
    expect(events.closed).toBe(true);
    await events.send('dropped');
    await events.comment();
    expect(wire.text).not.toContain('dropped');
  });

  test('leaves a Cache-Control that the program has set', async () => {
    const { port } = await started(make, (_req, res) => res.set('Cache-Control', 'private').events(of('a')));
    expect((await ask(port, '/')).headers['cache-control']).toBe('private');
  });

  test('has no body for HEAD and 204, and lets the source go', async () => {
    const returned: string[] = [];
    const source = (name: string): AsyncIterable<string> => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('asked')), return: () => (returned.push(name), Promise.resolve({ done: true, value: undefined })) }) });
    const { app, port, log } = await started(make, (_req, res) => res.events(source('HEAD')));
    app.get('/none', (_req, res) => res.status(204).events(source('204')));
    const [one, other] = [await ask(port, '/', { method: 'HEAD' }), await ask(port, '/none')];
    expect([one.status, one.headers['content-type'], one.body, other.status, other.body, log.messages('error')]).toEqual([200, 'text/event-stream', '', 204, '', []]);
    expect(returned).toEqual(['HEAD', '204']);
  });

  test('calls the source\'s return() when the client goes, in the async context of the handler', async () => {
    const storage = new AsyncLocalStorage<string>();
    let told: (store: unknown) => void = () => undefined;
    const cleaned = new Promise((resolve) => (told = resolve));
    async function* source(signal: AbortSignal): AsyncGenerator<string> {
      try {
        yield 'first';
        await wait(2_000_000_000, undefined, { signal });
      } finally {
        told(storage.getStore());
      }
    }
    const { port, log } = await started(make, (req, res) => storage.run('mine', () => void res.events(source(req.signal))));
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await wire.until('first');
    wire.cut();
    expect(await cleaned).toBe('mine');
    await new Promise(setImmediate);
    expect(log.messages('error')).toEqual([]);
  });

  test.each<[string, (cancelled: () => void) => Parameters<Response['events']>[0]]>([
    ['a ReadableStream', (cancelled) => new ReadableStream({ start: (control) => control.enqueue('first'), cancel: cancelled })],
    ['a Readable', (cancelled) => {
      const stream = new PassThrough({ objectMode: true });
      stream.write('first');
      return stream.on('close', cancelled);
    }],
  ])('ends %s that waits when the client goes', async (_what, make2) => {
    let told: () => void = () => undefined;
    const cancelled = new Promise<void>((resolve) => (told = resolve));
    const { port, log } = await started(make, (_req, res) => res.events(make2(told)));
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await wire.until('first');
    wire.cut();
    await cancelled;
    await new Promise(setImmediate);
    expect(log.messages('error')).toEqual([]);
  });

  test.each([['returns', (): object => ({ done: true })], ['throws', (): never => { throw new Error('of return()'); }]])('lets go of an iterator whose return() %s at once, and only before its end', async (_what, end) => {
    const returned = jest.fn(end);
    const source = (count: number) => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: count-- === 0, value: 'a' }), return: returned }) }) as unknown as AsyncIterable<string>;
    const { app, port, log } = await started(make, (_req, res) => res.events(source(2)));
    app.get('/endless', (_req, res) => res.events(source(Infinity)));
    expect((await ask(port, '/')).body).toBe('data: a\n\ndata: a\n\n');
    expect(returned).not.toHaveBeenCalled();
    const wire = await Wire.open(port);
    wire.write(head('GET /endless'));
    await wire.until('data: a');
    wire.cut();
    while (returned.mock.calls.length === 0) await new Promise(setImmediate);
    expect((await ask(port, '/')).status).toBe(200);
    expect([returned.mock.calls.length, log.messages('error')]).toEqual([1, []]);
  });

  test('asks the source as fast as the client reads', async () => {
    let asked = 0;
    const { port } = await started(make, (_req, res) => res.events((async function* () {
      for (;;) {
        asked++;
        yield await Promise.resolve('x'.repeat(100_000));
      }
    })()));
    const wire = await Wire.open(port);
    wire.pause();
    wire.write(head('GET /'));
    await stalled(() => asked);
    // What the system holds of it is some megabytes.
    expect(asked).toBeLessThan(200);
    wire.cut();
  });

  test('cuts off a client that reads nothing, past 1 MiB', async () => {
    let given: EventStream | undefined;
    let response: Response | undefined;
    const { port } = await started(make, (_req, res) => {
      response = res;
      given = res.events();
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await wire.until('\r\n\r\n');
    wire.pause();
    const events = given as EventStream;
    let most = 0;
    let sent = 0;
    const pending: Promise<void>[] = [];
    while (!events.closed) {
      pending.push(events.send('x'.repeat(10_000)));
      most = Math.max(most, (response as Response).writableLength);
      if (++sent % 50 === 0) await new Promise(setImmediate);
    }
    await Promise.all(pending);
    expect(most).toBeLessThan(3_000_000);
    expect((response as Response).destroyed).toBe(true);
    wire.resume();
    await wire.end;
  });

  test.each<[string, unknown, string]>([
    ['a line feed in an id', { id: 'a\nb', data: 1 }, 'res.events: id must be one line without NUL, got "a\\nb"'],
    ['a carriage return in an event', { event: 'a\rb', data: 1 }, 'res.events: event must be one line without NUL, got "a\\rb"'],
    ['NUL in an id', { id: 'a\0', data: 1 }, 'res.events: id must be one line without NUL, got "a\\u0000"'],
    ['an event that is no text', { event: 7, data: 1 }, 'res.events: event must be a string, got a number'],
    ['a retry that is no time', { retry: '1\ndata: x', data: 1 }, 'res.events: retry must be a whole number of milliseconds from 0, got "1\\ndata: x"'],
    ['a promise', { data: Promise.resolve(1) }, 'res.events cannot send a promise: await it first'],
    ['data that throws', { data: { toJSON() { throw new Error('of the data'); } } }, 'of the data'],
  ])('refuses %s, and ends the stream by an error of the request', async (_what, event, message) => {
    const errors: unknown[] = [];
    let sent: Promise<void> | undefined;
    const { app, port, log } = await started(make, (_req, res) => {
      const events = res.events();
      void events.send('good');
      sent = events.send(event);
      void events.send('behind');
    });
    app.use((error: unknown, _req: unknown, _res: unknown, next: (error: unknown) => void) => {
      errors.push(error);
      next(error);
    });
    const text = await Wire.tell(port, head('GET /'));
    expect(text).toMatch(/good\n\n\r\n$/);
    await sent;
    expect(errors).toEqual([expect.objectContaining({ message })]);
    expect(log.messages('error')).toEqual(['The response failed']);
  });

  test('an error of the source goes to error middleware, and cuts the stream off', async () => {
    const { port, log } = await started(make, (_req, res) => res.events((async function* () {
      yield await Promise.resolve('good');
      throw new Error('of the source');
    })()));
    expect(await Wire.tell(port, head('GET /'))).toMatch(/good\n\n\r\n$/);
    expect(log.text).toContain('of the source');
  });

  test('keeps a quiet connection open by comments', async () => {
    const { port } = await started(make, (_req, res) => void res.events({ heartbeat: 5 }));
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await wire.until(/(?:: \n\n[\s\S]*){3}/);
    wire.cut();
  });

  test('ends when the application drains, mounted too', async () => {
    const inner = make({ logging: { level: 'silent' } });
    inner.get('/', (_req, res) => void res.events());
    const { app, port } = await started(make, (_req, res) => void res.events(), (outer) => outer.use('/in', inner));
    const wires = [await Wire.open(port), await Wire.open(port)];
    for (const [i, path] of ['/', '/in'].entries()) {
      wires[i]?.write(head(`GET ${path}`));
      await wires[i]?.until('\r\n\r\n');
    }
    expect(app.listenerCount('drain')).toBe(1);
    // Longer than any spec may run.
    await app.close({ timeout: 2_000_000_000 });
    for (const wire of wires) expect(wire.text).toMatch(/0\r\n\r\n$/);
  });

  test('ends at once where it begins while the application drains', async () => {
    const source = new PassThrough();
    let tell: (goOn: () => void) => void = () => undefined;
    const begun = new Promise<() => void>((resolve) => (tell = resolve));
    const { app, port } = await started(make, async (_req, res) => {
      await new Promise<void>((resolve) => tell(resolve));
      res.events(source);
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    const goOn = await begun;
    // Longer than any spec may run.
    const closed = app.close({ timeout: 2_000_000_000 });
    goOn();
    await closed;
    expect([wire.text.includes('text/event-stream'), /0\r\n\r\n$/.test(wire.text), source.destroyed]).toEqual([true, true, true]);
  });

  test('ends at once where a listener of drain begins it', async () => {
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    let stream: EventStream | undefined;
    const { app, port } = await started(make, (_req, res) => {
      app.once('drain', () => {
        stream = res.events();
        // It is closing already.
        void app.close();
      });
      begin();
    });
    const wire = await Wire.open(port);
    wire.write(head('GET /'));
    await begun;
    // Longer than any spec may run.
    await app.close({ timeout: 2_000_000_000 });
    expect([stream?.closed, wire.text.includes('text/event-stream')]).toEqual([true, true]);
  });

  test('is flushed where compression holds it back', async () => {
    let given: EventStream | undefined;
    const { port } = await started(make, (_req, res) => void (given = res.set('Cache-Control', 'no-store').events()), (app) => app.use(compression({ threshold: 0 })));
    const sent = request({ port, host: '127.0.0.1', headers: { 'accept-encoding': 'gzip' } }).end();
    const [answer] = await once(sent, 'response') as [IncomingMessage];
    expect(answer.headers['content-encoding']).toBe('gzip');
    const text = answer.pipe(createGunzip()).setEncoding('utf8');
    for (const each of ['one', 'two']) {
      void (given as EventStream).send(each);
      expect((await once(text, 'data'))[0]).toBe(`data: ${each}\n\n`);
    }
    sent.destroy();
  });

  test('res.stream of text/event-stream is flushed, too', async () => {
    const source = new PassThrough();
    const { port } = await started(make, (_req, res) => void res.type('text/event-stream').stream(source), (app) => app.use(compression({ threshold: 0 })));
    const sent = request({ port, host: '127.0.0.1', headers: { 'accept-encoding': 'gzip' } }).end();
    source.write('data: one\n\n');
    const [answer] = await once(sent, 'response') as [IncomingMessage];
    const text = answer.pipe(createGunzip()).setEncoding('utf8');
    expect((await once(text, 'data'))[0]).toBe('data: one\n\n');
    source.write('data: two\n\n');
    expect((await once(text, 'data'))[0]).toBe('data: two\n\n');
    sent.destroy();
  });

  test('throws for what is no source, for wrong options, and behind an answer', async () => {
    const thrown: unknown[] = [];
    const { port } = await started(make, (_req, res) => {
      for (const act of [() => res.events('text' as never), () => res.events(7 as never, {}), () => res.events({ heartbeat: -1 }), () => res.events({ retry: 0.5 }), () => res.events(undefined, { heartbeat: '1' as never })]) {
        try { act(); } catch (error) { thrown.push((error as Error).message); }
      }
      res.send('x');
      try { res.events(); } catch (error) { thrown.push((error as { code?: string }).code); }
    });
    await ask(port, '/');
    expect(thrown).toEqual([
      'res.events needs an iterable, or nothing, got a string', 'res.events needs an iterable, or nothing, got a number', 'res.events: heartbeat must be a whole number of milliseconds from 0, got -1',
      'res.events: retry must be a whole number of milliseconds from 0, got 0.5', 'res.events: heartbeat must be a whole number of milliseconds from 0, got "1"', 'ERR_HTTP_HEADERS_SENT',
    ]);
  });
});

test('whatever is sent, the client gets that event and no other', async () => {
  let values: unknown[] = [];
  const { port } = await started(createServer, (_req, res) => res.events(of(...values)));
  const text = fc.string({ unit: fc.constantFrom('a', ':', ' ', '\n', '\r', 'ä', 'data: x', '\u2028', '\ufeff') });
  const line = fc.string({ unit: fc.constantFrom('a', ':', ' ', 'ä', '\u2028') });
  await fc.assert(fc.asyncProperty(fc.array(fc.record({ id: line, event: line, data: fc.oneof(text, fc.jsonValue()) }, { requiredKeys: ['data', 'id'] }), { maxLength: 5 }), async (events) => {
    values = events;
    const { body } = await ask(port, '/');
    const expected = events.map(({ id, event, data }) => ({ id, event: event === undefined || event === '' ? 'message' : event, data: typeof data === 'string' ? data.replace(/\r\n?/g, '\n') : XJsonResponseHandler.stringify(data) }));
    expect(parse(body)).toEqual(expected);
  }), { numRuns: 60 });
});
