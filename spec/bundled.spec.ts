import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { ChildProgram, ROOT } from './support/child-program';
import { fences, read } from './support/document';
import { Folder } from './support/folder';

const folder = new Folder();
afterAll(() => folder.close());

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('it runs on the build: npm run build (npm test does so)');
});

/** The banner that docs/runtimes.md has. */
const [, banner = ''] = /--banner:js="(.+)"/.exec(fences(read('docs/runtimes.md')).map(({ text }) => text).join('\n')) ?? [];

/** What few programs use, and each file of dist/late that it loads, in one. */
const PROGRAM = `
  import { createServer, express } from ${JSON.stringify(join(ROOT, 'dist/index.js'))};
  const app = createServer({ logging: { level: 'silent' }, etag: 'weak' });
  app.use('/parsed', express.json());
  app.post('/parsed', (req, res) => res.json({ body: req.body, bytes: req.rawBody.length }));
  app.get('/events', (req, res) => res.events((async function* () { yield { tick: 1n }; })()));
  app.mount('/fetch', (request) => new Response(new URL(request.url).pathname));
  app.get('/file', (req, res) => res.sendFile(import.meta.filename));
  const { port } = (await app.start(0, '127.0.0.1')).address();
  const answers = [];
  for (const [path, body] of [['/parsed', '{"a":1}'], ['/events'], ['/fetch/x']]) {
    const response = await fetch('http://127.0.0.1:' + port + path, body && { method: 'POST', body, headers: { 'Content-Type': 'application/json' } });
    answers.push(await response.text());
  }
  answers.push(await (await app.fetch(new Request('http://h/fetch/y'))).text(), (await app.inject('/fetch/z')).payload);
  await app.close();
  console.log(JSON.stringify(answers));
`;

test.each(['esm', 'cjs'] as const)('a program that esbuild has made one file of, as %s, runs by that file', async (format) => {
  const file = join(folder.path, format === 'esm' ? 'bundle.mjs' : 'bundle.cjs');
  folder.add('program.mjs', format === 'esm' ? PROGRAM : `(async () => {${PROGRAM.replace('import ', 'const ').replace(' from ', ' = require(').replace(';', ');').replace('import.meta.filename', '__filename')}})();`);
  if (format === 'esm') expect(banner).not.toBe('');
  await build({ entryPoints: [join(folder.path, 'program.mjs')], outfile: file, bundle: true, platform: 'node', format, logLevel: 'error', ...(format === 'esm' && { banner: { js: banner } }) });
  const { output, errors } = await ChildProgram.run([file]);
  expect(output === '' ? errors : JSON.parse(output)).toEqual(['{"body":{"a":1},"bytes":7}', 'data: {"tick":"1"}\n\n', '/fetch/x', '/fetch/y', '/fetch/z']);
});
