import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fences, read, ROOT } from './support/document';

const README = read('README.md');
const [, section = ''] = README.split('\n## A signed, typed, tested route\n');
const text = section.split('\n## ')[0] ?? '';

/** The files of the section: each is named in the line before its block. */
const files = new Map([...text.matchAll(/^`([\w.]+)`:\n\n```typescript\n([^]*?)\n```$/gm)].map(([, name = '', code = '']) => [name, code]));
const commands = fences(text).filter(({ language }) => language === 'sh').map((fence) => fence.text.split('\n'));

const folder = mkdtempSync(join(tmpdir(), 'waypost-newcomer-'));

beforeAll(() => {
  if (!existsSync(join(ROOT, 'dist/index.js'))) throw new Error('the newcomer runs on the build: npm run build (npm test does so)');
  // What `npm install` would put there.
  mkdirSync(join(folder, 'node_modules/@types'), { recursive: true });
  for (const name of ['typescript', '@types/node', 'undici-types']) symlinkSync(join(ROOT, 'node_modules', name), join(folder, 'node_modules', name));
  symlinkSync(ROOT, join(folder, 'node_modules/waypost'));
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  for (const [name, code] of files) writeFileSync(join(folder, name), code);
});

afterAll(() => rmSync(folder, { recursive: true }));

function run(command: string): string {
  const [program = '', ...rest] = command.split(' ');
  const node = program === 'npx' ? [join(ROOT, 'node_modules/.bin', rest.shift() ?? '')] : [];
  return execFileSync(process.execPath, [...node, ...rest], { cwd: folder, encoding: 'utf8', env: { PATH: process.env['PATH'] } });
}

test("README's files compile under strict, and their tests pass, by README's commands", () => {
  expect([...files.keys()]).toEqual(['app.ts', 'app.test.ts']);
  const [compile = '', check = ''] = commands.at(-1) ?? [];
  expect(compile).toContain('npx tsc');
  expect(compile).toContain('--strict');
  run(compile);
  expect(run(check)).toMatch(/pass 2\b[^]*fail 0\b/);
});

test('the path types the parameters: a misspelt one does not compile', () => {
  const [compile = ''] = commands.at(-1) ?? [];
  writeFileSync(join(folder, 'wrong.ts'), files.get('app.ts')?.replace('req.params.id', 'req.params.di') ?? '');
  expect(() => run(compile.replace(/app\.ts app\.test\.ts$/, 'wrong.ts'))).toThrow(/Command failed/);
});
