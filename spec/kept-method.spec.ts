import { type RequestListener, ServerResponse } from 'node:http';
import express from 'express';
import { express as waypostExpress } from 'waypost';
import { Folder } from './support/folder';
import { LogRecorder, Running } from './support/running';
import { SILENT_KINDS } from './support/silent-kinds';
import { ask } from './support/wire';

const running = new Running();
const files = new Folder({ 'a.txt': 'the file' });

afterAll(() => files.close());
afterEach(() => {
  jest.restoreAllMocks();
  return running.close();
});

type Kept = express.Response & Record<string, (...given: unknown[]) => unknown>;

/** The methods of a response that middleware may keep, and what they are called with then. */
const METHODS: Readonly<Record<string, readonly unknown[]>> = {
  addTrailers: [{ a: '1' }], append: ['a', 'b'], appendHeader: ['a', 'b'], attachment: ['a'], clearCookie: ['a'], contentType: ['txt'], cookie: ['a', 'b'], cork: [],
  destroy: [], download: [`${files.path}/a.txt`], emit: ['x'], end: ['late'], flushHeaders: [], format: [{ text: () => undefined }], get: ['a'], getHeader: ['a'],
  header: ['a', 'b'], json: [{ a: 1 }], jsonp: [{ a: 1 }], links: [{ a: 'b' }], location: ['/'], on: ['close', () => undefined], redirect: ['/'], removeHeader: ['a'],
  render: ['none.ejs', () => undefined], send: ['late'], sendFile: [`${files.path}/a.txt`], sendStatus: [202], set: ['a', 'b'], setHeader: ['a', 'b'], status: [201],
  stream: [{ async *[Symbol.asyncIterator]() { yield await Promise.resolve('late'); } }], type: ['txt'], uncork: [], vary: ['a'], write: ['late'], writeHead: [200], xJson: [{ a: 1n }],
};
/** Waypost alone has these. */
const OWN: readonly string[] = ['stream', 'xJson'];
/** For these Node raises an error, which ends the process, where waypost does not hear it. */
const RAISING: readonly string[] = ['end', 'write'];
/** These call the `next` of a router, which Express has none of where no router has called it. */
const OF_FILES: readonly string[] = ['download', 'sendFile'];

type Make = () => express.Express;
/** Who has the response behind an application. */
const HOSTS: Readonly<Record<string, (app: express.Express, other: express.RequestHandler) => RequestListener>> = {
  'Express around it': (app, other) => express().use(app).use(other),
  'Express within it': (app, other) => app.use(express().use(other)),
  'a server that goes on behind it': (app, other) => (req, res) => void (app as unknown as express.RequestHandler)(req as express.Request, res as express.Response, () => void other(req as express.Request, res as express.Response, () => undefined)),
};
/** Whether that has put its own prototype on by then, by which nobody knows what has been told to log. */
const hasPrototype = (host: string): boolean => host.startsWith('Express');
const thrownByStream = (host: string, time: string): string => (hasPrototype(host) ? 'TypeError' : time.startsWith('when') ? '' : 'ERR_HTTP_HEADERS_SENT');
const TIMES: Readonly<Record<string, (res: Kept, call: () => void) => void>> = {
  'in the turn of the end': (res, call) => {
    res.end('whole');
    call();
  },
  'when the response has closed': (res, call) => {
    res.on('close', () => setImmediate(call));
    res.end('whole');
  },
};

/** What comes of the method that an application's middleware has kept, called when another has ended the response. */
async function outcome(make: Make, host: string, time: string, name: string): Promise<{ thrown: string; body: string }> {
  const app = make();
  let kept: unknown;
  app.use((_req, res, next) => {
    kept = (res as Kept)[name];
    next();
  });
  let called = (_thrown: string): void => undefined;
  const thrown = new Promise<string>((resolve) => (called = resolve));
  const port = await running.serve((HOSTS[host] as (typeof HOSTS)[string])(app, (_req, res) => (TIMES[time] as (typeof TIMES)[string])(res as Kept, () => {
    try {
      Reflect.apply(kept as Kept[string], res, METHODS[name] as unknown[]);
      called('');
    } catch (error) {
      called((error as NodeJS.ErrnoException).code ?? (error as Error).name);
    }
  })));
  const { body } = await ask(port, '/');
  const result = { thrown: await thrown, body };
  // What Node raises comes in these turns: it fails the test, as it would end the process.
  for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  return result;
}

describe.each(Object.keys(HOSTS))('%s has the response', (host) => {
  describe.each(Object.keys(TIMES))('a method that was kept does what it does of Express\'s: called %s', (time) => {
    test.each(Object.entries(SILENT_KINDS))('%s', async (_, make) => {
      const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
      const log = new LogRecorder();
      for (const name of Object.keys(METHODS)) {
        const got = await outcome(() => make({ logger: log }), host, time, name);
        const isCompared = !OWN.includes(name) && !RAISING.includes(name) && (hasPrototype(host) || !OF_FILES.includes(name));
        // Of these Express would end the process, or has none.
        const wanted = isCompared ? await outcome(() => express().set('env', 'test'), host, time, name) : { thrown: name === 'stream' ? thrownByStream(host, time) : '', body: 'whole' };
        expect([name, got]).toEqual([name, wanted]);
      }
      const warned = warn.mock.calls.filter(([line]) => /^Data was written after the response had ended: .*write after end$/.test(String(line)));
      expect([warned.length, log.messages('error').filter((line) => line === 'Data was written after the response had ended').length]).toEqual(hasPrototype(host) ? [RAISING.length, 0] : [0, RAISING.length]);
    });
  });
});

test('none is missing', () => {
  const names = new Set<string>();
  for (let each = waypostExpress.response as object; each !== ServerResponse.prototype; each = Object.getPrototypeOf(each) as object) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(each))) if (typeof value === 'function' && name !== 'constructor') names.add(name);
  }
  // Node writes `100 Continue` at once, behind the end too.
  expect([...names].filter((name) => !(name in METHODS))).toEqual(['writeContinue']);
});
