import express from 'express';
import morgan from 'morgan';
import { createServer } from 'waypost';
import { answerErrors, ExpressOracle } from '../support/express-oracle';

const FORMAT = ':method :url :status :res[content-length] :remote-addr :http-version :req[x-id] :referrer :user-agent';
let oracle: ExpressOracle;

async function start(etag: 'weak' | false): Promise<void> {
  oracle = await ExpressOracle.start((app, side) => {
    const stream = { write: (line: string) => side.note(line.trim().replace(' 2.0 ', ' 1.1 ')) };
    app.use(morgan(FORMAT, { stream, skip: (req) => req.headers['x-quiet'] !== undefined }));
    app.use('/early', morgan('early :method :url', { stream, immediate: true }));
    app.use('/late', (req, _res, next) => {
      req.url = '/rewritten';
      next();
    });
    app.use('/mounted', mounted(side.name, etag));
    app.get('/text', (_req, res) => void res.send('hello'));
    app.get('/none', (_req, res) => void res.status(204).end());
    app.get('/chunks', (_req, res) => {
      res.write('a');
      res.end('b');
    });
    app.post('/text', (req, res) => void req.resume().on('end', () => res.status(201).send('made')));
    app.get('/early', (_req, res) => void res.send('early'));
    app.get('/broken', () => {
      throw new Error('broken');
    });
    app.use((_req, res) => void res.status(404).send('none'));
    app.use(answerErrors);
  }, { etag });
}

afterEach(() => oracle.close());

/** An application mounted in the program's: of Express in Express, of waypost in waypost. */
function mounted(side: string, etag: 'weak' | false) {
  const inner = side === 'express' ? express().set('etag', etag) : (createServer({ etag, logging: { level: 'silent' } }) as unknown as express.Express);
  inner.get('/inner', (_req, res) => void res.send('inner'));
  return inner;
}

async function line(path: string, question: Parameters<ExpressOracle['ask']>[1] = {}): Promise<string> {
  await oracle.ask(path, question);
  return String((await oracle.notes(1))[0]);
}

// Without ETags the head of most answers goes out by a shorter way, and what was sent is asked for afterwards.
describe.each([['with ETags', 'weak'], ['without', false]] as const)('%s it', (_with, etag) => {
  beforeEach(() => start(etag));

  test.each([
    ['/text?a=1', 'GET /text?a=1 200 5 127.0.0.1 1.1 - - -'],
    ['/none', 'GET /none 204 - 127.0.0.1 1.1 - - -'],
    ['/chunks', 'GET /chunks 200 - 127.0.0.1 1.1 - - -'],
    ['/broken', 'GET /broken 500 19 127.0.0.1 1.1 - - -'],
    ['/nowhere', 'GET /nowhere 404 4 127.0.0.1 1.1 - - -'],
  ])('writes a line for %s', async (path, expected) => {
    expect(await line(path)).toBe(expected);
  });

  test('says the URL as it was sent, inside mounts and after rewrites', async () => {
    expect(await line('/mounted/inner?b=2')).toMatch('GET /mounted/inner?b=2 200 5 ');
    await oracle.ask('/late/x');
    expect(String((await oracle.notes(2))[1])).toMatch('GET /late/x 404 4 ');
  });

  test('says what the request carried', async () => {
    expect(await line('/text', { method: 'POST', body: 'abc', headers: { 'x-id': '7', referer: 'http://a.example/', 'user-agent': 'spec', 'content-type': 'text/plain' } }))
      .toBe('POST /text 201 4 127.0.0.1 1.1 7 http://a.example/ spec');
  });

  test('answers HEAD with the status and the length of GET', async () => {
    expect(await line('/text', { method: 'HEAD' })).toBe('HEAD /text 200 5 127.0.0.1 1.1 - - -');
  });

  test('writes before the answer when it is told to', async () => {
    expect(await line('/early?c=3')).toBe('early GET /early?c=3');
  });

  test('skips what it is told to skip', async () => {
    await oracle.ask('/text', { headers: { 'x-quiet': '1' } });
    expect(await line('/none')).toMatch('GET /none 204');
  });
});
