import { createServer as createHttpServer, type RequestListener } from 'node:http';
import realExpress, { type RequestHandler } from 'express';
import { createServer, express } from 'waypost';
import { Running } from './support/running';

const running = new Running();

afterEach(() => running.close());

async function textOf(listener: RequestListener): Promise<string> {
  const port = await running.listen(createHttpServer(listener));
  return (await fetch(`http://127.0.0.1:${port}/`)).text();
}

/** Wrong uses: what Express says of each, which ours says too, before it tells what to write. */
const MISUSES: readonly (readonly [string, RequestHandler, string])[] = [
  ['req.get()', (req) => void (req.get as () => void)(), 'TypeError: name argument is required to req.get'],
  ['req.get of a number', (req) => void (req.get as (name: unknown) => void)(42), 'TypeError: name must be a string to req.get'],
  ['res.status of a text', (_req, res) => void (res.status as (code: unknown) => void)('200'), 'TypeError: Invalid status code'],
  ['res.status of a fraction', (_req, res) => void res.status(200.5), 'TypeError: Invalid status code'],
  ['res.status(99)', (_req, res) => void res.status(99), 'RangeError: Invalid status code'],
  ['res.sendStatus(1000)', (_req, res) => void res.sendStatus(1000), 'RangeError: Invalid status code'],
  ['res.sendFile()', (_req, res) => void (res.sendFile as () => void)(), 'TypeError: path argument is required to res.sendFile'],
  ['res.sendFile of a number', (_req, res) => void (res.sendFile as (path: unknown) => void)(42), 'TypeError: path must be a string to res.sendFile'],
  ['res.sendFile of a relative path', (_req, res) => void res.sendFile('name.txt'), 'TypeError: path must be absolute'],
  ['res.set of two types', (_req, res) => void res.set('Content-Type', ['text/html', 'text/plain']), 'TypeError: Content-Type cannot be set to an Array'],
  ['a maxAge that is no number', (_req, res) => void res.cookie('a', 'b', { maxAge: 'week' as never }), 'option maxAge is invalid'],
  ['a date that is none', (_req, res) => void res.cookie('a', 'b', { expires: new Date(NaN) }), 'option expires is invalid'],
  ['a signed cookie without a secret', (_req, res) => void res.cookie('a', 'b', { signed: true }), 'required for signed cookies'],
  ['res.vary()', (_req, res) => void (res.vary as unknown as () => void)(), 'field argument is required'],
];

test.each(MISUSES)('%s says in the tests of an Express program what Express says', async (_, handler, words) => {
  const theirs = realExpress();
  const ours = express({ env: 'test', logging: { level: 'silent' } });
  theirs.get('/', handler);
  ours.get('/', handler as never);
  expect(await textOf(theirs)).toContain(words);
  expect(await textOf(ours)).toContain(words);
});

test.each([
  ['etag', 42, /unknown value/],
  ['query parser', 'bogus', /unknown value.*query parser/],
])('the setting %s of an unknown value throws, in the words of Express too', (name, value, words) => {
  for (const app of [realExpress(), express()]) expect(() => app.set(name, value)).toThrow(words);
});

test.each([
  ['test', true, false],
  ['development', true, true],
  ['staging', false, false],
  ['production', false, false],
])('with the environment %s errors are shown by express(): %s, by createServer(): %s', async (env, express_, createServer_) => {
  for (const [app, shown] of [[express({ logging: { level: 'silent' } }), express_], [createServer({ logging: { level: 'silent' } }), createServer_]] as const) {
    app.set('env', env).get('/', () => {
      throw new Error('the inside');
    });
    expect([env, (await textOf(app)).includes('the inside')]).toEqual([env, shown]);
  }
});

test.each([
  ['by default', (): void => undefined, true],
  ["once 'etag' is disabled", (app: { disable(name: string): unknown }): void => void app.disable('etag'), false],
  ["once 'etag' is disabled and enabled", (app: { disable(name: string): unknown; enable(name: string): unknown }): void => void (app.disable('etag'), app.enable('etag')), true],
])('%s a file has an ETag as on Express; here a call may say otherwise', async (_, change, tagged) => {
  for (const app of [realExpress(), express(), createServer({ logging: { level: 'silent' } })]) {
    change(app as never);
    (app as ReturnType<typeof express>).get('/', (_req, res) => res.sendFile(__filename));
    (app as ReturnType<typeof express>).get('/with', (_req, res) => res.sendFile(__filename, { etag: true }));
    (app as ReturnType<typeof express>).get('/without', (_req, res) => res.sendFile(__filename, { etag: false }));
    const port = await running.listen(createHttpServer(app as RequestListener));
    const tags = await Promise.all(['', 'with', 'without'].map(async (path) => (await fetch(`http://127.0.0.1:${port}/${path}`)).headers.has('ETag')));
    expect(tags).toEqual([tagged, ...('start' in app ? [true, false] : [tagged, tagged])]);
  }
});
