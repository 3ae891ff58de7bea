import express from 'express';
import { createServer, express as waypostExpress } from 'waypost';
import { answersOf, onBoth } from './support/both-expresses';
import { Folder } from './support/folder';
import { Running } from './support/running';
import { type MakeApplication, SILENT_KINDS } from './support/silent-kinds';
import { ask } from './support/wire';

const running = new Running();
const files = new Folder({ 'v.t': '' });

afterAll(() => files.close());
afterEach(() => running.close());

const MAKES: Readonly<Record<string, MakeApplication>> = {
  ...SILENT_KINDS,
  'an application in one of waypost\'s': () => {
    const app = waypostExpress({ logging: { level: 'silent' } });
    app.use(within(waypostExpress({ logging: { level: 'silent' } }) as unknown as express.Express) as never);
    return app as unknown as express.Express;
  },
};
/** In `createServer` these are as its options say. */
const OF_OPTIONS: readonly string[] = ['etag', 'case sensitive routing', 'strict routing'];

/** What an application of Express has set, for what is mounted in it too. */
const SETTINGS: Readonly<Record<string, unknown>> = {
  'trust proxy': 1, 'json spaces': 2, 'json escape': true, 'json replacer': (key: string, value: unknown) => (key === 'secret' ? undefined : value),
  'subdomain offset': 1, 'query parser': 'extended', 'etag': 'strong', 'jsonp callback name': 'cb', 'view engine': 't', 'mine': 'of the program',
  'case sensitive routing': true, 'strict routing': true,
};

/** Routes that show what settings mean. */
function within(app: express.Express, names: readonly string[] = Object.keys(SETTINGS)): express.Express {
  app.set('views', files.path);
  app.get('/shown', (req, res) => {
    const read = names.map((name) => [name, typeof app.get(name) === 'function' ? 'function' : app.get(name) as unknown, app.enabled(name)]);
    res.json({ ip: req.ip, ips: req.ips, by: req.protocol, host: req.hostname, of: req.subdomains, query: req.query, read, html: '<&>', secret: 'of mine' });
  });
  app.get('/jsonp', (_req, res) => void res.jsonp({ a: 1 }));
  app.get('/view', (_req, res) => res.render('v'));
  return app;
}

const HEADERS = { 'host': 'a.b.example.com', 'x-forwarded-for': '198.51.100.7', 'x-forwarded-proto': 'https', 'x-forwarded-host': 'c.d.example.org' };

/** What is answered within an application of Express that has set one thing, before or behind the mount, or while it serves. */
async function answers(make: MakeApplication, name: string, value: unknown, time: string, shown: readonly string[]): Promise<unknown[]> {
  const outer = express().set('env', 'test');
  outer.engine('t', (_path, _options, done) => done(null, 'rendered'));
  if (time === 'before') outer.set(name, value);
  outer.use('/in', within(make(), shown));
  if (time === 'behind') outer.set(name, value);
  const port = await running.serve(outer);
  const found: unknown[] = [];
  for (const round of [1, 2]) {
    for (const path of ['/in/shown?a[b]=1', '/in/jsonp?callback=f&cb=g', '/in/view']) {
      const { status, body } = await ask(port, path, { headers: HEADERS });
      found.push([round, path, status, status === 500 ? '' : body]);
    }
    if (time === 'while it serves') outer.set(name, value);
  }
  return found;
}

describe.each(Object.entries(MAKES))('%s in an application of Express', (kind, make) => {
  describe.each(['before', 'behind', 'while it serves'])('takes on what that sets, as one of Express does: %s', (time) => {
    test.each(Object.entries(SETTINGS))('%s', async (name, value) => {
      const shown = Object.keys(SETTINGS).filter((each) => kind !== 'createServer()' || !OF_OPTIONS.includes(each));
      expect(await answers(make, name, value, time, shown)).toEqual(await answers(() => express().set('env', 'test'), name, value, time, shown));
    });
  });
});

test('what it has set itself goes before', async () => {
  const inner = waypostExpress({ logging: { level: 'silent' } });
  inner.set('trust proxy', false).set('json spaces', 0);
  inner.get('/', (req, res) => res.json([req.protocol]));
  const outer = express().set('trust proxy', true).set('json spaces', 4);
  outer.use('/in', inner as never);
  expect((await ask(await running.serve(outer), '/in', { headers: HEADERS })).body).toBe('["http"]');
});

test('an event by that name tells nothing else', () => {
  const app = createServer({ logging: { level: 'silent' } });
  for (const parent of [{}, () => undefined, Object.assign(() => undefined, { handle: () => undefined, set: () => undefined, settings: null, engines: 1 })]) app.emit('mount', parent);
  expect([app.get('trust proxy'), app.get('subdomain offset')]).toEqual([false, 2]);
});

test.each([false, true])('paths are compared by the settings that were known when the first was registered: before the mount %p', async (isBefore) => {
  await onBoth(async (lib) => {
    const [app, inner] = [lib().enable('strict routing').enable('case sensitive routing'), lib()];
    const register = (): void => void inner.get('/a', (_req, res) => void res.send('inner'));
    if (isBefore) register();
    app.use(inner);
    register();
    return answersOf(app, ['/a', '/a/', '/A']);
  });
});
