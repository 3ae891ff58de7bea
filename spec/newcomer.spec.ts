import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signedFetch } from '../lib/index';
import { fences, read, ROOT } from './support/document';

const page = read('docs/getting-started.md');
const [, section = ''] = page.split('\n## A signed, typed, tested route\n');
const text = section.split('\n## ')[0] ?? '';

/** The files of the section: each is named in the line before its block. */
const files = new Map([...text.matchAll(/^`([\w.]+)`:\n\n```typescript\n([^]*?)\n```$/gm)].map(([, name = '', code = '']) => [name, code]));
const commands = fences(text).filter(({ language }) => language === 'sh').map((fence) => fence.text.split('\n'));

const folder = mkdtempSync(join(tmpdir(), 'waypost-newcomer-'));

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.d.ts'))) throw new Error('the newcomer runs on the build: npm run build (npm test does so)');
  // What `npm install` would put there.
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
  for (const name of ['typescript', '@types/node', 'undici-types']) symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  symlinkSync(ROOT, join(folder, 'node_modules/waypost'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [name, code] of files) writeFileSync(join(folder, name), code);
});

afterAll(() => rmSync(folder, { recursive: true }));

/** One of the commands, without npm between. */
function command(text: string): string[] {
  const [program = '', ...rest] = text.split(' ');
  return program === 'npx' ? [join(ROOT, 'node_modules/.bin', rest.shift() ?? ''), ...rest] : rest;
}

function run(text: string): string {
  return execFileSync(process.execPath, command(text), { cwd: folder, encoding: 'utf8', env: { PATH: process.env['PATH'] } });
}

test("the files of getting started compile under strict, their tests pass, and the server answers who signs", async () => {
  expect([...files.keys()]).toEqual(['app.ts', 'app.test.ts', 'server.ts']);
  const [compile = '', check = '', serve = ''] = commands.at(-1) ?? [];
  expect(compile).toContain('npx tsc');
  expect(compile).toContain('--strict');
  run(compile);
  expect(run(check)).toMatch(/pass 2\b[^]*fail 0\b/);
  const server = spawn(process.execPath, command(serve), { cwd: folder, env: { PATH: process.env['PATH'], PORT: '0' }, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(server, 'close');
  try {
    // A line of the log tells the port; one before says that NODE_ENV is not set.
    let log = '';
    while (!log.includes('"address"')) log += String((await once(server.stdout, 'data') as [Buffer])[0]);
    const { address } = JSON.parse(/^.*"address".*$/m.exec(log)?.[0] ?? '') as { address: { port: number } };
    const url = `http://127.0.0.1:${address.port}/notes/7`;
    const [, secret = ''] = /'(an example secret[^']*)'/.exec(files.get('app.ts') ?? '') ?? [];
    const signed = await signedFetch({ secret })(url);
    expect([signed.status, await signed.text()]).toEqual([200, '{"id":7}']);
    expect((await fetch(url)).status).toBe(401);
  } finally {
    server.kill();
    await ended;
  }
}, 120_000);
