import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from '../support/free-ports';

export type CacheName = keyof typeof CACHES;

interface Cache {
  readonly command: string;
  args(folder: string, port: number): readonly string[];
  /** Its configuration before a server: what a first guide of it has, and nothing about what is stored. */
  configuration(folder: string, port: number, origin: number): string;
}

const CACHES = {
  varnish: {
    command: 'varnishd',
    args: (folder, port) => ['-F', '-j', 'none', '-T', 'none', '-n', join(folder, 'work'), '-a', `127.0.0.1:${port}`, '-s', 'malloc,32m', '-f', join(folder, 'configuration')],
    configuration: (_folder, _port, origin) => `vcl 4.1;\nbackend default { .host = "127.0.0.1"; .port = "${origin}"; }\n`,
  },
  squid: {
    command: 'squid',
    args: (folder) => ['-N', '-f', join(folder, 'configuration')],
    configuration: (folder, port, origin) => [
      `http_port 127.0.0.1:${port} accel defaultsite=localhost no-vhost`, `cache_peer 127.0.0.1 parent ${origin} 0 no-query originserver`, 'http_access allow all',
      'cache_mem 32 MB', `pid_filename ${folder}/pid`, `cache_log ${folder}/log`, `coredump_dir ${folder}`, 'access_log none', 'pinger_enable off', 'netdb_filename none', 'shutdown_lifetime 0 seconds', '',
    ].join('\n'),
  },
} satisfies Record<string, Cache>;

export const CACHE_NAMES = Object.keys(CACHES) as CacheName[];

/** A real shared cache of its own before a server. */
export class SharedCache {
  readonly port: number;
  readonly #folder: string;
  readonly #child: ChildProcess;

  private constructor(port: number, folder: string, child: ChildProcess) {
    this.port = port;
    this.#folder = folder;
    this.#child = child;
  }

  /** @throws Error that says so where it is not installed. */
  static async start(name: CacheName, origin: number): Promise<SharedCache> {
    const { args, command, configuration } = CACHES[name];
    const [port = 0] = await freePorts(1);
    const folder = mkdtempSync(join(tmpdir(), `waypost-${name}-`));
    // Started by root it goes on as another user.
    chmodSync(folder, 0o777);
    writeFileSync(join(folder, 'configuration'), configuration(folder, port, origin));
    const child = spawn(command, args(folder, port), { stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text));
    const failed = new Promise<never>((_, reject) => {
      child.once('error', (error) => reject(new Error(`${command} could not be run; install it, as by "apt-get install ${name}"`, { cause: error })));
      child.once('exit', (code) => reject(new Error(`${command} has ended with ${String(code)}: ${said}`)));
    });
    failed.catch(() => undefined);
    const cache = new SharedCache(port, folder, child);
    try {
      await Promise.race([cache.#isUp(), failed]);
    } catch (error) {
      await cache.close();
      throw error;
    }
    return cache;
  }

  async close(): Promise<void> {
    if (this.#child.pid !== undefined && this.#child.exitCode === null && this.#child.signalCode === null) {
      const ended = once(this.#child, 'close');
      this.#child.kill('SIGTERM');
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async #isUp(): Promise<void> {
    while (this.#child.exitCode === null && this.#child.pid !== undefined) {
      const socket = connect({ port: this.port, host: '127.0.0.1' });
      const isOpen = await once(socket, 'connect').then(() => true, () => false);
      socket.destroy();
      if (isOpen) return;
      await delay(20);
    }
  }
}
