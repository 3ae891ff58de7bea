/**
 * Runs the checks by each runtime that docs/compatibility.md has in its table: `npm run test:runtimes`, or with names of
 * runtimes by those alone. A check that the table says otherwise of must not pass: then the table is out of date.
 */
import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, copyFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const ROOT = join(HERE, '../..');
const PACKAGES = join(HERE, 'node_modules');
/** Longest that all checks of a runtime may take, in milliseconds. */
const LIMIT = 120_000;

const node = (major) => [join(PACKAGES, `node-${major}/bin/node`), '--no-warnings'];
const RUNTIMES = {
  'Node.js 20': node(20),
  'Node.js 22': node(22),
  'Node.js 24': node(24),
  'Node.js 26': node(26),
  'Node.js 26 without code from strings': [...node(26), '--disallow-code-generation-from-strings'],
  'Bun': [join(PACKAGES, '@oven/bun-linux-x64/bin/bun'), '--bun', 'run'],
  'Deno': [join(PACKAGES, '@deno/linux-x64-glibc/deno'), 'run', '--allow-all', '--no-lock', '--node-modules-dir=manual', '--quiet'],
};

/** What the table says that a runtime does otherwise: `| runtime | check | what it does |`. */
function knownDifferences() {
  const text = readFileSync(join(ROOT, 'docs/runtimes.md'), 'utf8');
  const rows = (text.split('<!-- table: differences -->')[1] ?? '').split('\n\n')[0].trim().split('\n').slice(2);
  return rows.map((row) => row.split('|').map((cell) => cell.trim()).slice(1, 3));
}

/** The package as it is installed, beside what the checks need. */
function makeFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-runtimes-'));
  mkdirSync(join(folder, 'node_modules/waypost'), { recursive: true });
  for (const name of ['dist', 'lib', 'package.json', 'node_modules']) symlinkSync(join(ROOT, name), join(folder, 'node_modules/waypost', name));
  copyFileSync(join(HERE, 'checks.mjs'), join(folder, 'checks.mjs'));
  return folder;
}

function certificate() {
  const folder = mkdtempSync(join(tmpdir(), 'waypost-'));
  const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  execFileSync('openssl', ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2', '-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'pipe' });
  const made = { CHECK_KEY: readFileSync(key, 'utf8'), CHECK_CERT: readFileSync(cert, 'utf8') };
  rmSync(folder, { recursive: true });
  return made;
}

async function check([command, ...args], folder, environment) {
  const child = spawn(command, [...args, 'checks.mjs'], { cwd: folder, env: { ...process.env, ...environment, NODE_ENV: 'test' }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [text, errors] = ['', ''];
  child.stdout.on('data', (chunk) => (text += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT);
  const [code, signal] = await new Promise((done) => {
    child.once('error', (error) => { errors += error.message; done([1, null]); });
    child.once('close', (...ended) => done(ended));
  });
  clearTimeout(timer);
  try {
    return JSON.parse(text.trimEnd().split('\n').at(-1));
  } catch {
    return [{ name: 'the checks run to their end', failed: `ended with ${signal ?? code}: ${errors.slice(-2000)}` }];
  }
}

const only = process.argv.slice(2);
const differences = knownDifferences();
const folder = makeFolder();
const environment = certificate();
const counts = { passed: 0, failed: 0, skipped: 0 };
try {
  for (const [name, command] of Object.entries(RUNTIMES).filter(([name]) => only.length === 0 || only.includes(name))) {
    const found = await check(command, folder, environment);
    let passed = 0;
    for (const { name: title, failed } of found) {
      const isKnown = differences.some(([runtime, known]) => runtime === name && known === title);
      if (failed === undefined) passed++;
      if (isKnown === (failed !== undefined)) counts[isKnown ? 'skipped' : 'passed']++;
      else {
        counts.failed++;
        console.log(`${name}: ${title}: ${failed ?? 'passes, though docs/runtimes.md says that it differs'}`);
      }
    }
    console.log(`${name}: ${passed} of ${found.length}`);
  }
} finally {
  rmSync(folder, { recursive: true });
}
console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} known differences`);
process.exitCode = counts.failed === 0 ? 0 : 1;
