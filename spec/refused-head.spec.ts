import { Readable } from 'node:stream';
import type { NextFunction, Request, Response } from 'waypost';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
const files = new Folder({ 'file.txt': 'of a file' });
afterEach(() => running.close());
afterAll(() => files.close());

const LARGE = Array.from({ length: 5_000 }, (_, i) => ({ i }));

/** Answers of a program, with a length each, and what their bodies hold. */
const ANSWERS: Record<string, [answer: (res: Response) => unknown, body: string]> = {
  sendStatus: [(res) => res.sendStatus(418), 'I\'m a Teapot'],
  send: [(res) => res.status(500).send('body'), 'body'],
  'send of bytes': [(res) => res.status(500).send(Buffer.from('body')), 'body'],
  json: [(res) => res.status(500).json({ error: 1 }), '{"error":1}'],
  xJson: [(res) => res.status(500).xJson({ error: 1 }), '{"error":1}'],
  'large xJson': [(res) => res.status(500).xJson(LARGE), JSON.stringify(LARGE)],
  stream: [(res) => res.status(500).set('Content-Length', '4').stream(Readable.from([Buffer.from('body')])), 'body'],
  sendFile: [(res) => res.status(200).sendFile('file.txt', { root: files.path }), 'of a file'],
  redirect: [(res) => res.redirect('/x'), 'Found. Redirecting to /x'],
  end: [(res) => {
    res.statusCode = 500;
    res.end('body');
  }, 'body'],
};

describe.each([204, 304])('an answer of error middleware behind a head of %i that Node has refused', (status) => {
  test.each(Object.entries(ANSWERS))('has its body: %s', async (_name, [answer, body]) => {
    const port = await running.app((app) => {
      const refused = (res: Response): Response => res.writeHead(status, { 'X-Name': '\u20ac', 'Transfer-Encoding': 'chunked' });
      app.all('/refused', (_req, res) => void refused(res));
      app.use((_error: unknown, _req: Request, res: Response, _next: NextFunction) => void answer(res));
      app.get('/last', (_req, res) => void res.set('Connection', 'close').send('the last'));
    });
    const [first, last] = (await Wire.tell(port, head('GET /refused') + head('GET /last'))).split(/(?=HTTP\/1\.1 \d)/);
    expect(first).toContain(`\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`);
    expect(first?.slice(first.indexOf('\r\n\r\n') + 4)).toBe(body);
    expect(last).toMatch(/\r\n\r\nthe last$/);
    // To HEAD there is none.
    const [ofHead, behind] = (await Wire.tell(port, head('HEAD /refused') + head('GET /last'))).split(/(?=HTTP\/1\.1 \d)/);
    expect(ofHead).toMatch(/\r\n\r\n$/);
    expect(behind).toMatch(/\r\n\r\nthe last$/);
  });
});
