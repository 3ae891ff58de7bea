import { pipeline, Readable } from 'node:stream';
import { type Application, createServer, type Request, type Response } from 'waypost';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const LARGE = 'a'.repeat(100_000);
const BYTES = Buffer.from('bytes');

const running = new Running();
const files = new Folder({ 'file.txt': 'of a file', 'large.txt': LARGE });
afterEach(() => running.close());
afterAll(() => files.close());

type Act = (res: Response, req: Request) => unknown;

const silent = { env: 'production', logging: { level: 'silent' } } as const;

/** What answers wait behind: ended when the handler of the request behind it has been called, and what it does at once is done. */
function register(app: Application, act: Act): Application {
  let first: Response | undefined;
  app.get('/first', (_req, res) => void (first = res));
  app.all('/second', async (req, res) => {
    setImmediate(() => setImmediate(() => first?.end('first')));
    await act(res, req);
  });
  return app.get('/last', (_req, res) => void res.set('Connection', 'close').send('the last'));
}

const SERVERS: Record<string, (act: Act) => Promise<number>> = {
  'its own server': (act) => running.app((app) => void register(app, act), silent),
  'a server of node:http': (act) => running.serve(register(createServer(silent), act)),
};

/** Bodies of all makes, with something said before the head. */
const ANSWERS: Record<string, Act> = {
  'bytes sent': (res) => res.send(BYTES),
  'text sent': (res) => res.send('text'),
  'much text sent': (res) => res.send(LARGE),
  'JSON': (res) => res.json({ a: 1 }),
  'much JSON': (res) => res.json({ LARGE }),
  'xJson': (res) => res.xJson({ a: 1n }),
  'much xJson': (res) => res.xJson({ LARGE }),
  'a file': (res) => res.sendFile('file.txt', { root: files.path }),
  'a large file': (res) => res.sendFile('large.txt', { root: files.path }),
  'a stream': (res) => res.stream(Readable.from([BYTES, BYTES])),
  'a pipeline': (res) => pipeline(Readable.from([BYTES, BYTES]), res, () => undefined),
  'bytes as the end': (res) => res.end(BYTES),
  'bytes behind a head': (res) => res.writeHead(200, { 'Content-Length': BYTES.length }).end(BYTES),
  'bytes written': (res) => {
    res.set('Content-Length', String(BYTES.length)).write(BYTES);
    res.end();
  },
  'an error': () => {
    throw new Error('raised');
  },
  'a file that is not there': (res) => res.sendFile('none.txt', { root: files.path }),
};

describe.each(Object.entries(SERVERS))('a response that waits for its turn, on %s', (_server, serve) => {
  test.each(Object.entries(ANSWERS))('says what comes before its head first: %s', async (_name, act) => {
    for (const before of [() => undefined, (res: Response) => res.writeEarlyHints({ link: '</a>; rel=preload' })]) {
      const port = await serve((res, req) => {
        before(res);
        return act(res, req);
      });
      const expect100 = head('POST /second', { Expect: '100-continue', 'Content-Length': 2, 'Content-Type': 'text/plain' });
      const text = await Wire.tell(port, `${head('GET /first')}${expect100}ab${head('GET /last')}`);
      const second = text.slice(text.indexOf('\r\n\r\nfirst') + 9);
      const [interim, ...behind] = second.split(/(?=HTTP\/1\.1 [2-5])/);
      expect(interim).toMatch(/^(?:HTTP\/1\.1 10[03] [^\r]+\r\n(?:[^\r]+\r\n)*\r\n){1,2}$/);
      expect(behind.join('')).not.toContain('HTTP/1.1 1');
      expect(behind).toHaveLength(2);
      expect(behind[1]).toMatch(/\r\n\r\nthe last$/);
    }
  });

  test.each<[string, Act]>([
    ['an error once it has begun', (res) => {
      res.write('part');
      throw new Error('late');
    }],
    ['data that can not be written once it has begun', (res) => {
      res.write('part');
      res.json({ a: 1 });
    }],
    ['a stream that fails', (res) => res.stream(Readable.from((function* () {
      yield 'part';
      throw new Error('late');
    })()))],
    ['a pipeline that fails', (res) => pipeline(Readable.from((function* () {
      yield 'part';
      throw new Error('late');
    })()), res, () => undefined)],
    ['a program that destroys it', (res) => res.destroy()],
  ])('closes the connection when that comes, behind %s', async (_name, act) => {
    const text = await Wire.tell(await serve(act), `${head('GET /first')}${head('GET /second')}${head('GET /last')}`);
    expect(text).toMatch(/\r\n\r\nfirst/);
    expect(text).not.toContain('the last');
    expect(text).not.toMatch(/0\r\n\r\n$/);
  });
});
