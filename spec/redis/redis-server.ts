import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A real redis-server of its own, on a socket in its directory: it needs no port. What it holds outlives a restart. */
export class RedisServer {
  readonly #directory: string;
  #child: ChildProcess | null = null;

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static async start(): Promise<RedisServer> {
    const server = new RedisServer(await mkdtemp(join(tmpdir(), 'waypost-redis-')));
    await server.start();
    return server;
  }

  /** The path of its socket. */
  get socket(): string {
    return join(this.#directory, 'redis.sock');
  }

  /** Starts it, with what it held before, and waits until it takes connections. */
  async start(): Promise<void> {
    const settings = { port: 0, unixsocket: this.socket, dir: this.#directory, save: '', appendonly: 'yes', appendfsync: 'always', daemonize: 'no' };
    const child = spawn('redis-server', Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]), { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#child = child;
    await new Promise<void>((resolve, reject) => {
      let log = '';
      child.on('error', (error) => reject(new Error('redis-server could not be run; install it, as by "apt-get install redis-server"', { cause: error })));
      child.on('exit', () => reject(new Error(`redis-server ended: ${log}`)));
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        log += text;
        if (/ready to accept connections/i.test(log)) resolve();
      });
    });
  }

  /** Holds it: connections stay, and nothing is answered. */
  freeze(): void {
    this.#child?.kill('SIGSTOP');
  }

  thaw(): void {
    this.#child?.kill('SIGCONT');
  }

  /** Ends it at once, as a crash does. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  }

  /** Ends it, and removes what it held. */
  async close(): Promise<void> {
    await this.kill();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
