import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Exchange } from './cases';
import { check } from './exchange';
import { pinned, type Pins } from './machine';

/** What a process has used so far. */
export interface Usage {
  /** Processor time, in microseconds. */
  readonly cpu: number;
  /** Resident memory, in bytes. */
  readonly rss: number;
}

/** One peer with one case, in a process of its own. */
export class PeerProcess {
  readonly name: string;
  readonly port: number;
  readonly #child: ChildProcess;

  private constructor(name: string, port: number, child: ChildProcess) {
    this.name = name;
    this.port = port;
    this.#child = child;
  }

  /**
   * Starts the peer and waits until it listens.
   * @param size how many routes or middleware, where the case has such a number.
   * @throws Error when it ends before it listens.
   */
  static async start(name: string, work: string, size: number | undefined, setup: { base: string | undefined; without: string | undefined; pins: Pins }): Promise<PeerProcess> {
    const file = resolve(__dirname, `peers/${name === 'base' ? 'waypost' : name}.mjs`);
    const args = ['--require', resolve(__dirname, 'probe.cjs'), file, work, ...(size === undefined ? [] : [String(size)])];
    const [command, rest] = pinned(setup.pins.server, process.execPath, args);
    const env: NodeJS.ProcessEnv = { ...process.env, NODE_ENV: 'production' };
    if (name === 'base') Object.assign(env, { WAYPOST_ROOT: setup.base }, setup.without === undefined ? {} : { WAYPOST_WITHOUT: setup.without });
    const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env });
    // Some log every refused request; it is shown only when a peer does not start.
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => { said = (said + chunk.toString()).slice(-2000); });
    const port = await new Promise<number>((listening, failed) => {
      child.once('error', failed);
      child.once('exit', (code) => failed(new Error(`${name} ${work} ended with ${code} before it listened: ${said}`)));
      createInterface({ input: child.stdout as NodeJS.ReadableStream }).once('line', (line) => listening(Number(line)));
    });
    return new PeerProcess(name, port, child);
  }

  /** @throws Error that names the peer, when it answers something else. */
  async check(exchange: Exchange): Promise<void> {
    try {
      await check(this.port, exchange);
    } catch (error) {
      throw new Error(`${this.name}: ${(error as Error).message}`, { cause: error });
    }
  }

  /** What it has used by now. */
  async usage(): Promise<Usage> {
    this.#child.send('usage');
    const [told] = (await once(this.#child, 'message')) as [{ cpu: NodeJS.CpuUsage; rss: number }];
    return { cpu: told.cpu.user + told.cpu.system, rss: told.rss };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }
}
