import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem, type } from 'node:os';
import { resolve } from 'node:path';

/** The cores that servers and load are pinned to; undefined where they are not. */
export interface Pins {
  readonly server: number | undefined;
  readonly load: number | undefined;
}

/** Where and with what the figures were made. */
export interface Machine {
  readonly date: string;
  readonly system: string;
  readonly processor: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly node: string;
  readonly versions: Readonly<Record<string, string>>;
}

const ROOT = resolve(__dirname, '..');
/** What the peers are made of. */
const PACKAGES = [
  'fastify', '@fastify/static', '@fastify/etag', '@fastify/helmet', '@fastify/cors', 'express', 'hono', '@hono/node-server', 'h3', 'srvx', 'koa', '@koa/router', '@koa/bodyparser', '@koa/send', 'koa-etag',
  'koa-conditional-get', 'koa-helmet', '@koa/cors', 'polka', 'restana', 'body-parser', 'serve-static', 'sirv', 'etag', 'fresh', 'helmet', 'cors',
];

export function describeMachine(): Machine {
  const versions: Record<string, string> = { waypost: `${versionOf(ROOT)} (${commit()})` };
  for (const name of PACKAGES) versions[name] = versionOf(resolve(__dirname, 'node_modules', name));
  return {
    date: new Date().toISOString().slice(0, 10),
    system: `${type()} ${release().replace(/^(\d+\.\d+).*$/, '$1')} ${process.arch}`,
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: availableParallelism(),
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    versions,
  };
}

/** The first two cores that this process may use; none where there is but one, or no taskset. */
export function findPins(): Pins {
  try {
    const [server, load] = allowedCores(execFileSync('taskset', ['-pc', String(process.pid)], { encoding: 'utf8' }));
    if (load !== undefined) return { server, load };
  } catch {
    // There is no taskset on this system.
  }
  return { server: undefined, load: undefined };
}

/** Of `pid 1's current affinity list: 0-2,5` the cores 0, 1, 2 and 5. */
function allowedCores(told: string): number[] {
  const cores: number[] = [];
  for (const range of told.slice(told.lastIndexOf(':') + 1).trim().split(',')) {
    const [first = NaN, last = first] = range.split('-').map(Number);
    for (let core = first; core <= last; core++) cores.push(core);
  }
  return cores;
}

/** The command that runs another on that core. */
export function pinned(core: number | undefined, command: string, args: readonly string[]): [string, string[]] {
  return core === undefined ? [command, [...args]] : ['taskset', ['-c', String(core), command, ...args]];
}

/** Runs all threads of this process on that core from now on. */
export function pinSelf(core: number): void {
  execFileSync('taskset', ['-apc', String(core), String(process.pid)], { stdio: 'ignore' });
}

function versionOf(directory: string): string {
  return (JSON.parse(readFileSync(resolve(directory, 'package.json'), 'utf8')) as { version: string }).version.replace(/^v/, '');
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty=+'], { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  } catch {
    return 'no git';
  }
}
