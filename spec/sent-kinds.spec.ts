import { createReadStream } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { PassThrough, Readable, Stream } from 'node:stream';
import fc from 'fast-check';
import { XJsonResponseHandler } from 'waypost';
import { ChildProgram, FROM_LIB } from './support/child-program';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

async function* items(): AsyncGenerator<number> {
  yield 1;
}

/** What looks like data and is none, and what the message tells to write. */
const KINDS: Record<string, readonly [make: () => unknown, words: RegExp, onPlain?: RegExp]> = {
  'a Readable': [() => Readable.from(['x']), /a stream: write res\.stream\(stream\)/, /a stream: write pipeline\(stream, res, callback\) of node:stream/],
  'a stream of a file': [() => createReadStream(__filename), /a stream/],
  'a PassThrough': [() => new PassThrough(), /a stream/],
  'a stream of old': [() => new Stream(), /a stream/],
  'a ReadableStream': [() => new ReadableStream(), /a ReadableStream: write res\.stream\(stream\)/, /a ReadableStream: write pipeline\(stream, res, callback\)/],
  'a promise': [() => Promise.resolve(1), /a promise: await it first/],
  'a promise of a class of its own': [() => new (class Deferred extends Promise<number> {})((resolve) => resolve(1)), /a promise/],
  'a query that is a thenable': [() => new (class Query { then(): void { throw new Error('run'); } })(), /a promise: await it first/],
  'a Blob': [() => new Blob(['x']), /a Blob: write res\.type\(blob\.type\)\.stream\(blob\.stream\(\)\)/, /a Blob: write pipeline\(blob\.stream\(\), res, callback\)/],
  'a File': [() => (typeof File === 'undefined' ? new Blob(['x']) : new File(['x'], 'x.txt')), /a Blob/],
  'a FormData': [() => new FormData(), /a FormData: write res\.json\(Object\.fromEntries\(form\)\)/],
  'a Response': [() => new Response('x'), /a Response of fetch: write res\.send\(response\)/, /a Response of fetch: .* write pipeline\(response\.body, res, callback\)/],
  'a Request': [() => new Request('http://a/'), /a Request of fetch/],
  'an ArrayBuffer': [() => new ArrayBuffer(1), /an ArrayBuffer: write res\.send\(Buffer\.from\(buffer\)\)/],
  'a SharedArrayBuffer': [() => new SharedArrayBuffer(1), /an ArrayBuffer/],
  'an asynchronous generator': [() => items(), /an asynchronous iterable: write res\.stream\(iterable\)/, /an asynchronous iterable: write pipeline\(iterable, res, callback\)/],
};

type Method = 'send' | 'json' | 'jsonp' | 'xJson';

describe.each(Object.entries(KINDS))('%s', (name, [make, words, onPlain = words]) => {
  // A Response is sent by res.send.
  const calls: [Method, string][] = [...(name === 'a Response' ? [] : [['send', '/a'] as [Method, string]]), ['json', '/a'], ['json', '/a.xJson'], ['jsonp', '/a'], ['jsonp', '/a?callback=f'], ['xJson', '/a']];
  test.each(calls)('is refused by res.%s (%s), with what to write instead', async (method, path) => {
    const log = new LogRecorder();
    const port = await running.app((app) => app.get('/a', (_req, res) => void res[method](make())), { logging: { logger: log } });
    const answer = await ask(port, path);
    expect(answer.status).toBe(500);
    expect(answer.json).toMatchObject(method === 'send' ? { error: 'Internal Server Error' } : { error: 'Serialization failed' });
    const errors = log.lines.filter(({ level }) => level === 'error').map(({ fields }) => fields.err);
    expect(errors).toEqual([expect.any(TypeError)]);
    expect(String(errors[0])).toMatch(words);
  });

  test('is refused by an XJsonResponseHandler on a plain response', async () => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const sends = new XJsonResponseHandler();
    const port = await running.serve((_req, res: ServerResponse) => sends.send(res, make()));
    expect(await ask(port, '/')).toMatchObject({ status: 500, json: { error: 'Serialization failed' } });
    expect(warned.mock.calls.map(([text]) => String(text))).toEqual([expect.stringMatching(onPlain)]);
    warned.mockRestore();
  });
});

test('what is refused and fails later does not end the process', async () => {
  const program = `
    const { createReadStream } = require('node:fs');
    const { get } = require('node:http');
    const { PassThrough, Readable } = require('node:stream');
    const { createServer, express } = require('./lib');
    const later = () => new Promise((_, fail) => setTimeout(fail, 1, new Error('later')));
    const GIVEN = {
      'a file': () => createReadStream('/nowhere'),
      'a stream': () => Readable.from((async function* () { yield 1; await later(); })()),
      'a PassThrough': () => { const through = new PassThrough(); setTimeout(() => through.destroy(new Error('later')), 1); return through; },
      'a promise': later,
      'an async function': async () => { throw new Error('at once'); },
      'the request': (req) => req,
      'the response': (req) => req.res,
    };
    (async () => {
      for (const make of [createServer, express]) {
        const app = make({ env: 'production', logging: { level: 'silent' } });
        for (const method of ['send', 'json', 'jsonp', 'xJson']) app.get('/' + method, (req, res) => res[method](GIVEN[req.get('x-given')](req)));
        const server = await app.start(0);
        for (const given of Object.keys(GIVEN)) for (const method of ['send', 'json', 'jsonp', 'xJson']) {
          const status = await new Promise((done, failed) => get({ port: server.address().port, path: '/' + method, headers: { 'x-given': given }, agent: false }, (res) => res.resume().on('end', () => done(res.statusCode))).on('error', failed));
          if (status !== 500) console.log(given, method, status);
        }
        await app.close();
      }
      setTimeout(() => console.log('lives'), 20);
    })();`;
  expect(await ChildProgram.run([...FROM_LIB, '-e', program])).toMatchObject({ code: 0, output: 'lives\n', errors: '' });
});

test.each<[string, (feed: Readable) => void]>([
  ['is piped', (feed) => feed.pipe(new PassThrough().resume())],
  ['is listened to', (feed) => feed.on('data', () => undefined)],
  ['is looked at', (feed) => feed.on('readable', () => undefined)],
  ['was read and paused', (feed) => feed.resume().pause()],
])('a stream that others read is left to them when it is refused: it %s', async (_how, begin) => {
  const feed = new Readable({ read: () => undefined });
  begin(feed);
  const port = await running.app((app) => {
    for (const method of ['send', 'json', 'jsonp', 'xJson'] as const) app.get(`/${method}`, (_req, res) => void res[method](feed));
  });
  for (let i = 0; i < 4; i++) for (const method of ['send', 'json', 'jsonp', 'xJson']) expect((await ask(port, `/${method}`)).status).toBe(500);
  expect(feed.destroyed).toBe(false);
  // None of its own for each time.
  expect(feed.listenerCount('error')).toBeLessThanOrEqual(3);
});

test('a stream that nobody else reads is destroyed when it is refused', async () => {
  let file = createReadStream(__filename);
  const port = await running.app((app) => app.get('/', (_req, res) => void res.send((file = createReadStream(__filename)))));
  expect((await ask(port, '/')).status).toBe(500);
  expect(file.destroyed).toBe(true);
});

describe('what is data is sent as JSON.stringify writes it', () => {
  class Point {
    constructor(readonly x: number, readonly y: number) {}
  }
  class Document {
    readonly id = 1;
    then(): void { /* It may be waited for, and says how it is written. */ }
    pipe(): void { /* Likewise. */ }
    toJSON(): unknown { return { id: this.id }; }
  }
  const odd: Record<string, () => unknown> = {
    'of a class': () => new Point(1, 2), 'a date': () => new Date(0), 'a map': () => new Map([[1, 2]]), 'a set': () => new Set([1]), 'an error': () => new Error('x'),
    'a boxed text': () => Object('x'), 'without a prototype': () => Object.assign(Object.create(null), { a: 1 }), 'of a class that writes itself': () => new Document(),
    'with fields of these names': () => ({ then: 1, pipe: 'x', toJSON: null }), 'with methods of these names': () => ({ then() { /* data */ }, pipe() { /* data */ }, a: 1 }),
    'an array of a class': () => (class Rows extends Array<number> {}).from([1, 2]), 'a URL': () => new URL('http://a/'), 'a regular expression': () => /x/,
    'a proxy': () => new Proxy({ a: 1 }, {}), 'null': () => null, 'parameters': () => new URLSearchParams('a=b'),
  };

  test.each(Object.entries(odd))('%s', async (_, make) => {
    const port = await running.app((app) => {
      app.get('/json', (_req, res) => res.json(make()));
      app.get('/xjson', (_req, res) => res.xJson(make()));
    });
    for (const path of ['/json', '/xjson']) expect((await ask(port, path)).body).toBe(JSON.stringify(make()));
  });

  test('and anything else', async () => {
    let data: unknown;
    const port = await running.app((app) => app.get('/', (_req, res) => res.json(data)));
    await fc.assert(fc.asyncProperty(fc.jsonValue(), async (value) => {
      data = value;
      expect((await ask(port, '/')).body).toBe(JSON.stringify(value));
    }), { numRuns: 40 });
  });
});

test('a `json` that a program put in its place is given what res.send gets', async () => {
  const port = await running.app((app) => app.get('/', (_req, res) => {
    const { json } = res;
    res.json = ((data: unknown) => void Promise.resolve(data).then((value) => json.call(res, value))) as never;
    res.send(Promise.resolve({ a: 1 }));
  }));
  expect((await ask(port, '/')).json).toEqual({ a: 1 });
});
