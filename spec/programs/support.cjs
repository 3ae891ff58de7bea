/** What the programs share. */
const assert = require('node:assert/strict');
const { execFileSync, spawn } = require('node:child_process');
const { chownSync, globSync, mkdtempSync } = require('node:fs');
const http = require('node:http');
const { tmpdir } = require('node:os');
const { join } = require('node:path');

/** Starts a server of an application, or the server given, on a free port, which it returns. */
exports.listen = async (target) => {
  const server = typeof target.address === 'function' ? target : http.createServer(target);
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server.address().port;
};

/** Asks, and returns what the answer shows: status, type and text. */
exports.ask = async (port, path, { json, ...options } = {}) => {
  const given = json === undefined ? options : { method: 'POST', body: JSON.stringify(json), ...options, headers: { 'Content-Type': 'application/json', ...options.headers } };
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { redirect: 'manual', ...given });
  return { status: answer.status, type: answer.headers.get('Content-Type'), text: await answer.text() };
};

/** Asks with a host of its own, which fetch does not let a program say. */
exports.askHost = (port, host, path) => new Promise((resolve, reject) => {
  http.get({ host: '127.0.0.1', port, path, headers: { Host: host } }, (answer) => {
    let text = '';
    answer.on('data', (chunk) => (text += chunk)).on('end', () => resolve({ status: answer.statusCode, text }));
  }).on('error', reject);
});

/** Sees to it that the answer is that, and returns it. */
exports.check = (answer, status, part = '') => {
  assert.equal(answer.status, status, answer.text);
  assert.ok(answer.text.includes(part), `no ${part} in ${answer.text}`);
  return answer;
};

/** Decorates a method of a class, or the class itself, as TypeScript would. */
exports.decorate = (target, key, ...decorators) => {
  if (key === undefined) for (const decorator of decorators.reverse()) decorator(target);
  else for (const decorator of decorators.reverse()) decorator(target.prototype, key, Object.getOwnPropertyDescriptor(target.prototype, key));
  return target;
};

/** A redis-server of its own, on a socket; ends with the process. */
exports.redis = async () => {
  try {
    execFileSync('redis-server', ['--version']);
  } catch {
    throw Object.assign(new Error('there is no redis-server'), { code: 'SKIPPED' });
  }
  const socket = join(mkdtempSync(join(tmpdir(), 'waypost-redis-')), 'redis.sock');
  const child = spawn('redis-server', ['--port', '0', '--unixsocket', socket, '--save', ''], { stdio: ['ignore', 'pipe', 'ignore'] });
  process.once('exit', () => child.kill());
  await new Promise((resolve) => child.stdout.on('data', (chunk) => String(chunk).includes('ready to accept') && resolve()));
  return socket;
};

/** A PostgreSQL of its own, in a directory that it returns, for user `waypost`; ends with the process. */
exports.postgres = async () => {
  const [programs] = globSync('/usr/lib/postgresql/*/bin');
  if (programs === undefined) throw Object.assign(new Error('there is no PostgreSQL of Debian'), { code: 'SKIPPED' });
  const directory = mkdtempSync(join(tmpdir(), 'waypost-postgres-'));
  // It refuses to run as root.
  const id = (flag) => Number(execFileSync('id', [flag, 'postgres']));
  const as = process.getuid() === 0 ? { uid: id('-u'), gid: id('-g') } : {};
  if (as.uid !== undefined) chownSync(directory, as.uid, as.gid);
  execFileSync(join(programs, 'initdb'), ['-D', 'data', '-A', 'trust', '-U', 'waypost', '--no-sync'], { ...as, cwd: directory });
  const child = spawn(join(programs, 'postgres'), ['-D', 'data', '-k', directory, '-c', 'listen_addresses=', '-c', 'fsync=off'], { ...as, cwd: directory, stdio: ['ignore', 'ignore', 'pipe'] });
  process.once('exit', () => child.kill('SIGINT'));
  await new Promise((resolve) => child.stderr.on('data', (chunk) => String(chunk).includes('ready to accept') && resolve()));
  return directory;
};
