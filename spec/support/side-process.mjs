import { spawn } from 'node:child_process';

/**
 * Runs a program of a folder by its starter, and answers what it has printed last, which is JSON, with what it said besides.
 *
 * @param {string} folder
 * @param {readonly string[]} args the starter, and what it is given
 * @param {{ env: NodeJS.ProcessEnv, limit: number }} setup `limit` in milliseconds; then the process is killed
 */
export async function runSide(folder, args, { env, limit }) {
  const child = spawn(process.execPath, ['--no-warnings', ...args], { cwd: folder, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  let [text, errors] = ['', ''];
  child.stdout.on('data', (chunk) => (text += chunk));
  child.stderr.on('data', (chunk) => (errors += chunk));
  const timer = setTimeout(() => child.kill('SIGKILL'), limit);
  await new Promise((done) => child.once('close', done));
  clearTimeout(timer);
  try {
    return { ...JSON.parse(text.trimEnd().split('\n').at(-1)), errors };
  } catch {
    return { failed: `the process ended: ${errors.split('\n').find((line) => /Error/.test(line)) ?? 'without a word'}`, errors };
  }
}
