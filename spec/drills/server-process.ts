import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreateServerOptions } from 'waypost';
import { ENVIRONMENT, ROOT } from '../support/child-program';
import { type Figures, hold, mebibytes } from './drill';
import type { Counts } from './server';

/** What is allowed, and how the server is started. */
export interface ServerSetup {
  /** Options of createServer, as far as JSON holds them. */
  readonly options?: CreateServerOptions;
  /** Most open files and sockets of the process. @default the system's */
  readonly descriptors?: number;
  /** Most memory of V8's old space, in MiB. @default V8's own */
  readonly heap?: number;
  /** Most memory that the process may have taken, in MiB; what it takes before the load is some 90. */
  readonly memory: number;
}

/** How long a server may take to let go of what was left behind, in milliseconds. */
const PATIENCE = 15_000;

/** The server of a drill, in a process of its own. */
export class ServerProcess {
  readonly port: number;
  readonly #child: ChildProcess;
  readonly #setup: ServerSetup;
  readonly #said: () => string;
  readonly #waiting: { resolve: (counts: Counts) => void; reject: (error: Error) => void }[] = [];
  #before!: Counts;

  private constructor(child: ChildProcess, port: number, setup: ServerSetup, said: () => string) {
    this.#child = child;
    this.port = port;
    this.#setup = setup;
    this.#said = said;
    const over = (): void => this.#waiting.splice(0).forEach(({ reject }) => reject(new Error(`the server has ended: ${said()}`)));
    child.on('message', (counts: Counts) => this.#waiting.shift()?.resolve(counts));
    child.once('exit', over);
  }

  /** Starts a server, does that to it, and sees that it is as it was before. */
  static async with(setup: ServerSetup, attack: (server: ServerProcess) => Promise<Figures>): Promise<Figures> {
    const server = await ServerProcess.start(setup);
    try {
      const figures = await attack(server);
      return { ...figures, ...(await server.settled()) };
    } finally {
      server.#child.kill('SIGKILL');
    }
  }

  static async start(setup: ServerSetup): Promise<ServerProcess> {
    hold(existsSync(join(ROOT, 'dist/index.js')), 'the drills run on the build: npm run build');
    const folder = mkdtempSync(join(tmpdir(), 'waypost-drill-'));
    const node = [process.execPath, '--expose-gc', ...(setup.heap === undefined ? [] : [`--max-old-space-size=${setup.heap}`]), '-r', './spec/support/transpiled.cjs', 'spec/drills/server.ts', JSON.stringify(setup.options ?? {}), folder];
    const [command = '', ...args] = setup.descriptors === undefined ? node : ['sh', '-c', `ulimit -n ${setup.descriptors}; exec "$@"`, 'sh', ...node];
    const child = spawn(command, args, { cwd: ROOT, env: ENVIRONMENT, stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    // Not by the server: SIGKILL leaves it no time.
    child.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    let said = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (said += text));
    const [told] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [{ port: number } | number | null];
    if (typeof told !== 'object' || told === null) throw new Error(`the server has not started: ${said}`);
    const server = new ServerProcess(child, told.port, setup, () => said);
    server.#before = await server.counts();
    return server;
  }

  /** @throws Error when the server has ended: what it said then is the message. */
  counts(): Promise<Counts> {
    if (!this.#child.connected) throw new Error(`the server has ended: ${this.#said()}`);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#child.send('count');
    });
  }

  /** Waits until that holds of the counts. */
  async until(holds: (counts: Counts) => boolean, what: string): Promise<Counts> {
    const end = Date.now() + PATIENCE;
    for (;;) {
      const counts = await this.counts();
      if (holds(counts)) return counts;
      hold(Date.now() < end, `${what}: ${JSON.stringify(counts)}`);
      await delay(100);
    }
  }

  /** Waits until nothing of the load is left. @throws Error when something stays, or when more memory was taken than is allowed. */
  async settled(): Promise<Figures> {
    const { descriptors: before } = this.#before;
    const counts = await this.until(
      ({ responses, handlers, connections, descriptors }) => responses === 0 && handlers === 0 && connections === 0 && descriptors <= before,
      `something is left, of ${before} descriptors before`,
    );
    hold(counts.peak <= this.#setup.memory * 2 ** 20, `${mebibytes(counts.peak)} of memory were taken: at most ${this.#setup.memory} MiB are allowed`);
    return { left: `${counts.responses} responses, ${counts.handlers} handlers, ${counts.descriptors - before} descriptors`, peak: mebibytes(counts.peak) };
  }

  /** Ends it by SIGTERM. */
  terminate(): Promise<{ code: number | null; said: string }> {
    const ended = once(this.#child, 'exit').then(([code]) => ({ code: code as number | null, said: this.#said() }));
    this.#child.kill('SIGTERM');
    return ended;
  }
}
