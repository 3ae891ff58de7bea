/**
 * What it costs that a parsed body can be read from the stream once more:
 * `npm run bench:readable` compares waypost with itself less the one call that
 * gives the bytes back.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

const ROOT = resolve(__dirname, '..');
const GIVES_BACK = 'bytes === void 0 ? pushOn(request, null) : giveBack(request, bytes)';

const base = mkdtempSync(join(tmpdir(), 'waypost-base-'));
try {
  for (const name of ['dist', 'package.json']) cpSync(join(ROOT, name), join(base, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(base, 'node_modules'));
  const file = join(base, 'dist/index.js');
  const code = readFileSync(file, 'utf8');
  const places = code.split(GIVES_BACK).length - 1;
  if (places !== 1) throw new Error(`dist/index.js gives the bytes back in ${places} places, not in one; look at GIVES_BACK in bench/readable.ts`);
  writeFileSync(file, code.replace(GIVES_BACK, 'pushOn(request, null)'));
  const args = ['--cases', 'post', '--peers', 'node', '--base', base, '--rounds', '24', '--seconds', '1', ...process.argv.slice(2)];
  const { status } = spawnSync(process.execPath, ['-r', 'ts-node/register', join(__dirname, 'run.ts'), ...args], { cwd: ROOT, stdio: 'inherit' });
  process.exitCode = status ?? 1;
} finally {
  rmSync(base, { recursive: true, force: true });
}
