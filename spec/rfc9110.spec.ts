/** What RFC 9110 has and the packages that Express is made of have otherwise: in createServer and in express() alike. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Application, createServer, express, static as staticFiles } from 'waypost';
import { Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();
afterEach(() => running.close());

const folder = mkdtempSync(join(tmpdir(), 'waypost-rfc-'));
const TEXT = '0123456789';
writeFileSync(join(folder, 'ten.txt'), TEXT);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each<[string, (options: object) => Application]>([['createServer', createServer], ['express', express]])('%s', (_, make) => {
  async function serve(register: (app: Application) => void): Promise<number> {
    const app = make({ env: 'test', logging: { level: 'silent' } });
    register(app);
    return running.start(app);
  }

  describe('an entity tag with a comma (section 8.8.3)', () => {
    test.each<[string, string, boolean]>([
      ['"a,b"', '"a,b"', true],
      ['"a,b"', 'W/"a,b"', true],
      ['W/"a,b"', '"x", "a,b"', true],
      ['"a,b"', '"a", "b"', false],
      ['"a,b"', '"a,c"', false],
      ['","', '"x","y"', false],
      ['"a,b"', '*', true],
      ['"ab"', '"ab"', true],
    ])('%s matches %s: %s', async (tag, sent, matches) => {
      const port = await serve((app) => {
        app.get('/text', (_req, res) => res.set('ETag', tag).send('text'));
        app.get('/file', (_req, res) => res.set('ETag', tag).sendFile(join(folder, 'ten.txt')));
        app.use('/static', staticFiles(folder, { setHeaders: (res) => res.setHeader('ETag', tag) }));
        app.get('/fresh', (req, res) => { res.set('ETag', tag); res.end(String(req.fresh)); });
      });
      const headers = { 'If-None-Match': sent };
      for (const path of ['/text', '/file', '/static/ten.txt']) expect([path, (await ask(port, path, { headers })).status]).toEqual([path, matches ? 304 : 200]);
      expect((await ask(port, '/fresh', { headers })).body).toBe(String(matches));
      for (const path of ['/file', '/static/ten.txt']) expect([path, (await ask(port, path, { headers: { 'If-Match': sent } })).status]).toEqual([path, matches ? 200 : 412]);
    });
  });

  describe('a media range with a charset (section 12.5.1)', () => {
    test.each<[string, string | undefined]>([
      ['application/json;charset=utf-8', 'json'],
      ['application/json; charset=UTF-8', 'json'],
      ['text/html;q=0.5, application/json;charset=utf-8', 'json'],
      ['text/html;charset=utf-8, application/json;q=0.9', 'text/html'],
      ['application/json;charset=iso-8859-1', undefined],
      ['image/png;charset=utf-8', undefined],
      ['*/*;charset=utf-8', 'json'],
      ['application/json', 'json'],
    ])('%s accepts %s', async (accept, chosen) => {
      const port = await serve((app) => {
        app.get('/format', (_req, res) => res.format({ json: () => res.json('json'), 'text/html': () => res.send('text/html') }));
        app.get('/accepts', (req, res) => res.json(req.accepts('json', 'text/html')));
      });
      const headers = { Accept: accept };
      const answer = await ask(port, '/format', { headers });
      expect([answer.status, answer.status === 200 ? answer.body.replaceAll('"', '') : undefined]).toEqual([chosen === undefined ? 406 : 200, chosen]);
      expect((await ask(port, '/accepts', { headers })).body).toBe(JSON.stringify(chosen ?? false));
    });
  });

  test.each(['application/problem+json', 'application/ld+json', 'image/svg+xml', 'text/csv'])('%s with a charset is what text of that type is', async (type) => {
    const port = await serve((app) => app.get('/', (_req, res) => res.format({ [type]: () => res.send('text') })));
    expect((await ask(port, '/', { headers: { Accept: `${type};charset=utf-8` } })).status).toBe(200);
    expect((await ask(port, '/', { headers: { Accept: `${type};charset=iso-8859-1` } })).status).toBe(406);
  });

  test('a suffix range that is longer than the representation is the whole of it (section 14.1.2)', async () => {
    const port = await serve((app) => {
      app.get('/range/:size', (req, res) => res.json(req.range(Number(req.params.size))));
      app.get('/file', (_req, res) => res.sendFile(join(folder, 'ten.txt')));
      app.use('/static', express.static(folder));
    });
    await fc.assert(fc.asyncProperty(fc.nat(30), fc.constantFrom('', ' '), async (length, space) => {
      const headers = { Range: `bytes=${space}-${length}` };
      const [whole, expected] = [TEXT.length, TEXT.slice(-Math.min(length, TEXT.length))];
      for (const path of ['/file', '/static/ten.txt']) {
        const { status, body, headers: { 'content-range': range } } = await ask(port, path, { headers });
        if (length === 0) expect(status).toBe(416);
        else expect([status, body, range]).toEqual([206, expected, `bytes ${whole - expected.length}-${whole - 1}/${whole}`]);
      }
      const { body } = await ask(port, '/range/10', { headers });
      expect(body).toBe(length === 0 ? '-1' : JSON.stringify([{ start: whole - expected.length, end: whole - 1 }]));
    }), { numRuns: 40 });
    expect((await ask(port, '/range/10', { headers: { Range: 'bytes=0-1,-11' } })).body).toBe('[{"start":0,"end":1},{"start":0,"end":9}]');
    expect((await ask(port, '/range/10', { headers: { Range: 'bytes=20-30' } })).body).toBe('-1');
  });
});
