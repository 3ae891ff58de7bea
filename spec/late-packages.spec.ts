import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ChildProgram, ROOT } from './support/child-program';
import { Folder } from './support/folder';

const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: Record<string, string> };

const folder = new Folder();
afterAll(() => folder.close());

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('it runs on the build: npm run build (npm test does so)');
});

/** What of waypost's packages, of Node's modules that it can do without, and of the files in dist/late a program has loaded at its end. */
async function loadedBy(program: string): Promise<string[]> {
  // A file, since Node loads more for `-e`.
  folder.add('program.cjs', `
    const waypost = require(${JSON.stringify(join(ROOT, 'dist/index.js'))});
    const secret = 'an example secret, 32 bytes or more';
    async function answer(register, options = {}, headers = 'Host: a', start = 'GET /?a=1 HTTP/1.1\\r\\n', body = '') {
      const app = waypost.createServer({ logging: { level: 'silent' }, ...options });
      register(app);
      const { port } = (await app.start(0, '127.0.0.1')).address();
      const socket = require('node:net').connect(port, '127.0.0.1', () => socket.write(start + 'Connection: close\\r\\n' + headers + '\\r\\n\\r\\n' + body));
      await require('node:events').once(socket.resume(), 'close');
      await app.close();
    }
    (async () => { ${program} })().then(() => {
      const files = Object.keys(require.cache).map((file) => (/dist\\/(late\\/[^/]+)\\.js$/.exec(file) ?? /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(file))?.[1]);
      const natives = process.moduleLoadList.map((name) => /^NativeModule (crypto|https|zlib)$/.exec(name)?.[1]);
      console.log(JSON.stringify([...new Set([...files, ...natives])].filter((name) => name)));
    });`);
  const { output, errors } = await ChildProgram.run([join(folder.path, 'program.cjs')]);
  if (output === '') throw new Error(errors);
  const loaded = JSON.parse(output.trim().split('\n').at(-1) as string) as string[];
  return loaded.filter((name) => name.startsWith('late/') || name in dependencies || ['crypto', 'https', 'zlib'].includes(name)).sort();
}

const FIRST_ANSWER = 'await answer((app) => app.get(\'/\', (req, res) => res.status(200).set(\'X-A\', \'1\').json({ path: req.path }))';

test('until its first answer a server loads one file, no package, and no module of Node that node:http does without', async () => {
  expect(await loadedBy(`${FIRST_ANSWER});`)).toEqual([]);
});

test('for a line of the log it loads pino, and looks for slips to warn of', async () => {
  expect(await loadedBy(`${FIRST_ANSWER}, { logging: { level: 'info' } });`)).toEqual(['late/applications-within', 'late/pino-logger', 'pino', 'safe-stable-stringify']);
});

/** What a program does, and what is loaded for it alone. */
const USES: [string, string, string[]][] = [
  ['a parameter', 'await answer((app) => app.get(\'/:a\', (_req, res) => res.json(1)));', ['find-my-way']],
  ['an error in the log', 'await answer((app) => app.get(\'/\', () => { throw new Error(); }), { logging: { level: \'info\' } });', ['late/pino-logger', 'pino', 'safe-stable-stringify']],
  ['app.log', 'waypost.createServer().log;', ['pino']],
  ['a cookie', 'await answer((app) => app.get(\'/\', (_req, res) => res.cookie(\'a\', \'1\').json(1)));', ['cookie']],
  ['vary', 'await answer((app) => app.get(\'/\', (_req, res) => res.vary(\'Accept\').json(1)));', ['vary']],
  ['a type by its extension', 'await answer((app) => app.get(\'/\', (_req, res) => res.type(\'html\').end()));', ['mime-types']],
  ['json', 'waypost.json();', ['body-parser']],
  ['a parsed body', 'await answer((app) => app.post(\'/\', (req, res) => res.json(req.body)), {}, \'Host: a\', \'POST / HTTP/1.1\\r\\nContent-Type: application/json\\r\\nContent-Length: 2\\r\\n\', \'{}\');', ['late/body']],
  ['inject', 'await waypost.createServer({ logging: { level: \'silent\' } }).inject(\'/\');', ['late/inject', 'light-my-request']],
  ['a query with brackets', 'await answer((app) => app.set(\'query parser\', \'extended\').get(\'/\', (req, res) => res.json(req.query)));', ['qs']],
  ['an ETag', 'await answer((app) => app.get(\'/\', (_req, res) => res.send(\'a\')), { etag: \'weak\' });', ['etag']],
  ['a cycle', 'const data = []; data.push(data); waypost.XJsonResponseHandler.stringify(data);', ['late/serializer', 'safe-stable-stringify']],
  ['a trusted proxy', 'waypost.createServer({ logging: { level: \'silent\' }, server: { trustProxy: \'loopback\' } });', ['proxy-addr']],
  ['a signature', 'waypost.signRequest({ secret, method: \'GET\', url: \'/\' });', ['crypto', 'late/sign']],
  ['version 2 of it', 'waypost.signRequest({ version: 2, secret, method: \'GET\', url: \'/\' });', ['crypto', 'late/message-sign', 'late/sign', 'structured-headers']],
  ['signedFetch', 'waypost.signedFetch({ secret });', ['late/signed-fetch']],
  ['a check of signatures', 'waypost.createServer({ logging: { level: \'silent\' }, security: { requestSignature: { secret } } });', ['late/check', 'late/configured-hooks', 'late/security']],
  ['one of version 2', 'waypost.createServer({ logging: { level: \'silent\' }, security: { requestSignature: { version: 2, secret } } });', ['late/configured-hooks', 'late/message-signature']],
  ['a webhook', 'waypost.createServer({ logging: { level: \'silent\' }, security: { webhooks: [{ path: \'/w\', preset: \'github\', secret }] } });', ['late/configured-hooks', 'late/webhook']],
  ['upgrades', 'waypost.createServer({ logging: { level: \'silent\' } }).on(\'upgrade\', () => undefined);', ['late/upgrade']],
  ['static', 'waypost.static(\'.\');', ['late/served-directory']],
  ['a file', 'await answer((app) => app.get(\'/\', (_req, res) => res.sendFile(module.path + \'/program.cjs\')));', ['late/named-file', 'send']],
  ['a view', 'await answer((app) => app.get(\'/\', (_req, res) => res.render(\'none\')));', ['late/rendering', 'late/views']],
  ['an unknown option', 'waypost.createServer({ logging: { level: \'silent\' }, bodies: 1 });', ['late/hint', 'late/security']],
  ['a time limit for handlers', 'waypost.createServer({ logging: { level: \'silent\' }, server: { handlerTimeout: 1000 } });', ['late/handler-timeout']],
  ['xJson', 'await answer((app) => app.get(\'/\', (_req, res) => res.xJson(1)));', ['late/serializer', 'late/xjson-stream']],
  ['a stream', 'await answer((app) => app.get(\'/\', (_req, res) => res.stream(require(\'node:stream\').Readable.from([\'a\']))));', ['late/streamed-body']],
  ['events', 'await answer((app) => app.get(\'/\', (_req, res) => res.events((async function* () { yield 1; })())));', ['late/event-stream']],
  ['a signal', 'await answer((app) => app.get(\'/\', (req, res) => res.json(req.signal.aborted)));', ['late/request-signal']],
  ['a fetch handler', 'await answer((app) => app.mount(\'/\', () => new Response(\'a\')));', ['late/fetch-handler', 'late/fetch-response']],
  ['a Response that is returned', 'await answer((app) => app.get(\'/\', () => new Response(\'a\')));', ['late/fetch-response']],
  ['app.fetch', 'await waypost.createServer({ logging: { level: \'silent\' } }).fetch(new Request(\'http://a/\'));', ['late/fetch-exchange']],
  ['a body behind a parser', 'await answer((app) => app.use(waypost.json()));', ['body-parser', 'late/captured-parser']],
  ['precompressed files', 'waypost.static(\'.\', { precompressed: [\'br\'] });', ['late/precompressed', 'late/served-directory']],
];

test.each(USES)('%s loads what it needs', async (_name, program, expected) => {
  const loaded = await loadedBy(program);
  expect(expected.filter((name) => !loaded.includes(name))).toEqual([]);
});

test('each file of dist/late may be loaded first', async () => {
  const files = readdirSync(join(ROOT, 'dist/late')).filter((file) => file.endsWith('.js'));
  expect(files.length).toBeGreaterThan(10);
  folder.add('first.cjs', `
    const root = ${JSON.stringify(join(ROOT, 'dist'))};
    console.log(JSON.stringify(${JSON.stringify(files)}.map((file) => {
      for (const name of Object.keys(require.cache)) if (name.startsWith(root)) delete require.cache[name];
      require(root + '/late/' + file);
      return typeof require(root + '/index.js').createServer({ logging: { level: 'silent' } });
    })));`);
  const { output, errors } = await ChildProgram.run([join(folder.path, 'first.cjs')]);
  expect([output.trim(), errors]).toEqual([JSON.stringify(files.map(() => 'function')), '']);
});

test('the file that every server loads has at most 300 KB', () => {
  expect(statSync(join(ROOT, 'dist/index.js')).size).toBeLessThan(300_000);
});

test('every package that is installed with waypost supports Node 20, and can be required there', () => {
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as { packages: Record<string, { dev?: boolean; devOptional?: boolean; optional?: boolean; peer?: boolean; engines?: { node?: string } }> };
  const installed = Object.entries(packages).filter(([path, { dev, devOptional, optional, peer }]) => path !== '' && dev !== true && devOptional !== true && optional !== true && peer !== true);
  expect(installed.length).toBeGreaterThan(Object.keys(dependencies).length);
  const others = installed.filter(([path, { engines }]) => {
    const { type, exports } = JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8')) as { type?: string; exports?: unknown };
    return (type === 'module' && !(JSON.stringify(exports) ?? '').includes('"require"')) || /^\D*(?:2[1-9]|[3-9]\d)/.test(engines?.node ?? '');
  });
  expect(others.map(([path]) => path)).toEqual([]);
});
