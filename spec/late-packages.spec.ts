import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ChildProgram, ROOT } from './support/child-program';
import { Folder } from './support/folder';

const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { dependencies: Record<string, string> };

const folder = new Folder();
afterAll(() => folder.close());

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('it runs on the build: npm run build (npm test does so)');
});

/** What of waypost's packages, and of Node's modules that it can do without, a program has loaded at its end. */
async function loadedBy(program: string): Promise<string[]> {
  // A file, since Node loads more for `-e`.
  folder.add('program.cjs', `
    const waypost = require(${JSON.stringify(join(ROOT, 'dist/index.js'))});
    const secret = 'an example secret, 32 bytes or more';
    async function answer(register, options = {}, headers = 'Host: a') {
      const app = waypost.createServer({ logging: { level: 'silent' }, ...options });
      register(app);
      const { port } = (await app.start(0, '127.0.0.1')).address();
      const socket = require('node:net').connect(port, '127.0.0.1', () => socket.write('GET /?a=1 HTTP/1.1\\r\\nConnection: close\\r\\n' + headers + '\\r\\n\\r\\n'));
      await require('node:events').once(socket.resume(), 'close');
      await app.close();
    }
    (async () => { ${program} })().then(() => {
      const files = Object.keys(require.cache).map((file) => /node_modules\\/((?:@[^/]+\\/)?[^/]+)\\//.exec(file)?.[1]);
      const natives = process.moduleLoadList.map((name) => /^NativeModule (crypto|https|zlib)$/.exec(name)?.[1]);
      console.log(JSON.stringify([...new Set([...files, ...natives])].filter((name) => name)));
    });`);
  const { output, errors } = await ChildProgram.run([join(folder.path, 'program.cjs')]);
  if (output === '') throw new Error(errors);
  const loaded = JSON.parse(output.trim().split('\n').at(-1) as string) as string[];
  return loaded.filter((name) => name in dependencies || ['crypto', 'https', 'zlib'].includes(name)).sort();
}

const FIRST_ANSWER = 'await answer((app) => app.get(\'/\', (req, res) => res.status(200).set(\'X-A\', \'1\').json({ path: req.path }))';

test('until its first answer a server loads no package, and no module of Node that node:http does without', async () => {
  expect(await loadedBy(`${FIRST_ANSWER});`)).toEqual([]);
});

test('for a line of the log it loads pino alone', async () => {
  expect(await loadedBy(`${FIRST_ANSWER}, { logging: { level: 'info' } });`)).toEqual(['pino']);
});

/** What a program does, and what is loaded for it alone. */
const USES: [string, string, string[]][] = [
  ['a parameter', 'await answer((app) => app.get(\'/:a\', (_req, res) => res.json(1)));', ['find-my-way']],
  ['an error in the log', 'await answer((app) => app.get(\'/\', () => { throw new Error(); }), { logging: { level: \'info\' } });', ['pino', 'safe-stable-stringify']],
  ['app.log', 'waypost.createServer().log;', ['pino']],
  ['a cookie', 'await answer((app) => app.get(\'/\', (_req, res) => res.cookie(\'a\', \'1\').json(1)));', ['cookie']],
  ['vary', 'await answer((app) => app.get(\'/\', (_req, res) => res.vary(\'Accept\').json(1)));', ['vary']],
  ['a type by its extension', 'await answer((app) => app.get(\'/\', (_req, res) => res.type(\'html\').end()));', ['mime-types']],
  ['json', 'waypost.json();', ['body-parser']],
  ['inject', 'await waypost.createServer({ logging: { level: \'silent\' } }).inject(\'/\');', ['light-my-request']],
  ['a query with brackets', 'await answer((app) => app.set(\'query parser\', \'extended\').get(\'/\', (req, res) => res.json(req.query)));', ['qs']],
  ['an ETag', 'await answer((app) => app.get(\'/\', (_req, res) => res.send(\'a\')), { etag: \'weak\' });', ['etag']],
  ['a cycle', 'const data = []; data.push(data); waypost.XJsonResponseHandler.stringify(data);', ['safe-stable-stringify']],
  ['a trusted proxy', 'waypost.createServer({ logging: { level: \'silent\' }, server: { trustProxy: \'loopback\' } });', ['proxy-addr']],
  ['a signature', 'waypost.signRequest({ secret, method: \'GET\', url: \'/\' });', ['crypto']],
  ['version 2 of it', 'waypost.signRequest({ version: 2, secret, method: \'GET\', url: \'/\' });', ['crypto', 'structured-headers']],
];

test.each(USES)('%s loads what it needs', async (_name, program, expected) => {
  const loaded = await loadedBy(program);
  expect(expected.filter((name) => !loaded.includes(name))).toEqual([]);
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
