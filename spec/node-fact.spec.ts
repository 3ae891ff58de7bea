import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import fc from 'fast-check';
import type { Application, Request, Response } from 'waypost';
import { ChildProgram, FROM_LIB } from './support/child-program';
import { read } from './support/document';
import { libraryFiles } from './support/program-types';
import { runs } from './support/runs';
import { Wire } from './support/wire';

const ROOM = resolve(__dirname, '../lib/http/node');
type Library = typeof import('waypost');

/** The library as it is where some facts do not hold. */
function loadWithout(off: (name: string) => boolean): Library {
  let found: Library | undefined;
  jest.isolateModules(() => {
    jest.doMock('../lib/http/node/fact', () => ({ holds: (name: string, trial: () => boolean) => !off(name) && trial() }));
    found = jest.requireActual<Library>('waypost');
    jest.dontMock('../lib/http/node/fact');
  });
  return found as Library;
}

/** The facts that can be switched off. */
const FACTS = readdirSync(ROOM).flatMap((file) => /\bholds\('([a-z-]+)'/.exec(readFileSync(resolve(ROOM, file), 'utf8'))?.[1] ?? []);

/** What handlers do with requests and responses, as far as a fact might show. Each notes what it has seen. */
const HANDLERS: Record<string, (req: Request, res: Response, note: (seen: unknown) => void) => unknown> = {
  json: (req, res) => res.json({ body: req.body, raw: req.rawBody?.length }),
  fields: (_req, res, note) => {
    res.setHeader('X-One', 'a').set('x-TWO', ['b', 'c']).setHeader('x-one', 'd');
    res.appendHeader('Set-Cookie', 'e=f');
    res.removeHeader('X-two');
    note([res.getHeaders(), res.getHeaderNames(), res.hasHeader('x-ONE'), res.get('X-One')]);
    res.send('fields');
  },
  head: (_req, res, note) => {
    res.setHeader('X-One', 'grün');
    res.writeHead(201, { 'X-Two': '2' });
    note(res.headersSent);
    res.end('head');
  },
  refused: (_req, res, note) => {
    for (const [name, value] of [['bad name', 'a'], ['X-Bad', 'a\nb'], ['X-None', undefined]] as const) {
      try {
        res.setHeader(name, value as string);
      } catch (error) {
        note((error as NodeJS.ErrnoException).code);
      }
    }
    res.status(202).end();
  },
  read: (req, res, note) => {
    req.on('data', (chunk: Buffer) => note(chunk.length)).on('end', () => res.send('read')).on('close', () => note('closed'));
  },
  late: (req, res, note) => setImmediate(() => {
    req.once('readable', () => note((req.read() as Buffer | null)?.length));
    req.on('end', () => res.send('late'));
    req.on('readable', () => req.read());
  }),
  piped: (req, res) => req.pipe(res),
  paused: (req, res) => {
    req.pause();
    res.send('paused');
  },
  watched: (req, res, note) => {
    req.on('close', () => note('closed'));
    res.on('finish', () => note('finished'));
    res.end('watched');
  },
  closing: (req, res, note) => {
    req.on('close', () => note('closed'));
    res.send('closing');
  },
  called: (_req, res, note) => res.end('called', () => note('finished')),
  unread: (_req, res) => res.type('text').send('unread'),
};

const request = fc.record({
  handler: fc.constantFrom(...Object.keys(HANDLERS)),
  method: fc.constantFrom('GET', 'HEAD', 'POST', 'DELETE'),
  type: fc.constantFrom('application/json', 'text/plain', 'application/octet-stream'),
  body: fc.constantFrom('', '{"a":1}', 'long', '{broken'),
  isChunked: fc.boolean(),
});
type Asked = typeof request extends fc.Arbitrary<infer T> ? T : never;

function written({ handler, method, type, body: given, isChunked }: Asked, index: number): string {
  const body = given === 'long' ? JSON.stringify('x'.repeat(20_000)) : given;
  const head = `${method} /${handler} HTTP/1.1\r\nHost: a\r\nX-Index: ${index}\r\nContent-Type: ${type}\r\n`;
  if (body === '') return `${head}\r\n`;
  return isChunked ? `${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
}

/** All that comes back, and what the handler of each request has noted: of several on their way no order is promised. */
async function outcome({ createServer }: Library, requests: readonly Asked[]): Promise<unknown> {
  const noted = new Map<string, unknown[]>();
  const app: Application = createServer({ env: 'production', logging: { level: 'silent' } });
  for (const [name, handler] of Object.entries(HANDLERS)) {
    app.all(`/${name}`, (req, res) => {
      const seen: unknown[] = [];
      noted.set(String(req.headers['x-index']), seen);
      handler(req, res, (given) => seen.push(given));
    });
  }
  const server = await app.start(0, '127.0.0.1');
  const wire = await Wire.open((server.address() as { port: number }).port);
  wire.write(requests.map(written).join('') + 'GET /unread HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
  await wire.end;
  await app.close({ timeout: 0 });
  return { text: wire.text.replace(/Date: [^\r]*/g, 'Date').replace(/x{100,}/g, (run) => `x times ${run.length}`), noted };
}

test('there are facts to switch off, each of the name of its file', () => {
  expect(FACTS).toEqual(['buffered-body', 'early-finish', 'header-fields', 'held-body', 'unread-request']);
  for (const name of FACTS) expect(readFileSync(resolve(ROOM, `${name}.ts`), 'utf8')).toContain(`holds('${name}'`);
});

test('what Node does not document is relied on there alone, and each file there says so in docs/how-it-works.md', () => {
  // `_all` is Express's: how a route says that it handles every method.
  const undocumented = /\w\._(?!lightMyRequest|destroy\()[a-z]|'_(?!handle'|all')[a-z]\w+'|shouldKeepAlive|destroySoon =|chunkedEncoding|(?:assign|detach)Socket/;
  const files = libraryFiles().filter((file) => !file.startsWith('lib/http/node/'));
  const uses = files.flatMap((file) => read(file).split('\n').filter((line) => undocumented.test(line)).map((line) => `${file}: ${line.trim()}`));
  expect(uses).toEqual([]);
  const documented = [...read('docs/how-it-works.md').matchAll(/\| \[([a-z-]+\.ts)\]\(\.\.\/lib\/http\/node\//g)].map(([, file]) => file);
  expect(documented.sort()).toEqual(readdirSync(ROOM).filter((file) => file !== 'fact.ts').sort());
});

test('all of them hold on this Node', () => {
  const held: Record<string, boolean> = {};
  jest.isolateModules(() => {
    jest.doMock('../lib/http/node/fact', () => ({ holds: (name: string, trial: () => boolean) => (held[name] = trial()) }));
    jest.requireActual('waypost');
    jest.dontMock('../lib/http/node/fact');
  });
  expect(held).toEqual(Object.fromEntries(FACTS.map((name) => [name, true])));
});

test('a trial that throws does not hold', () => {
  const { holds } = jest.requireActual<typeof import('../lib/http/node/fact')>('../lib/http/node/fact');
  expect(holds('any', () => {
    throw new Error('Node has changed');
  })).toBe(false);
  expect([holds('any', () => true), holds('any', () => false)]).toEqual([true, false]);
});

test.each([...FACTS, 'all of them'])('without %s, the same programs give the same bytes and see the same', async (name) => {
  const usual = loadWithout(() => false);
  const without = loadWithout((fact) => name === 'all of them' || fact === name);
  await fc.assert(fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 5 }), async (requests) => {
    expect(await outcome(without, requests)).toEqual(await outcome(usual, requests));
  }), { numRuns: runs(60) });
});

test('a body that one copy of the library holds is none that is empty to another, which was loaded behind what wraps read', async () => {
  const program = `
    const http = require('node:http');
    const load = () => {
      for (const file of Object.keys(require.cache)) if (/[\\\\/]lib[\\\\/]/.test(file) && !file.includes('node_modules')) delete require.cache[file];
      return require('./lib');
    };
    const first = load();
    const { read } = http.IncomingMessage.prototype;
    http.IncomingMessage.prototype.read = function (size) { return read.call(this, size); };
    const second = load();
    if (first.createServer === second.createServer) throw new Error('one copy');
    const secret = 'an example secret, 32 bytes or more', logging = { level: 'silent' };
    const inner = second.createServer({ logging, security: { requestSignature: { secret } } });
    inner.post('/', (req, res) => res.json(req.body));
    const outer = first.createServer({ logging });
    outer.post('/', (_req, _res, next) => next());
    outer.use(inner);
    outer.start(0, '127.0.0.1').then(async (server) => {
      // Of an empty body, for one that is none.
      const headers = { 'content-type': 'application/json', ...second.signRequest({ secret, method: 'POST', url: '/', body: '' }) };
      const { status } = await fetch('http://127.0.0.1:' + server.address().port, { method: 'POST', headers, body: '{"a":1}' });
      process.stdout.write(String(status), () => process.exit());
    });`;
  expect(await ChildProgram.run([...FROM_LIB, '-e', program])).toMatchObject({ code: 0, output: '401' });
});
