import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Exchange } from './cases';
import { check, record } from './exchange';
import { pinned, type Pins } from './machine';
import { BARE, type Settings } from './settings';

/** What a process has used so far. */
export interface Usage {
  /** Processor time, in microseconds. */
  readonly cpu: number;
  /** Resident memory, in bytes. */
  readonly rss: number;
}

/** Memory after V8 has collected all that it can, in bytes. */
export interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
}

/** What {@link PeerProcess.ask} may ask; `sampled` ends what `sample` begins, `profiled` what begins with the process. */
type Question = 'usage' | 'collected' | 'profiled' | 'sample' | 'sampled';

/** How a program loads what it uses: ES modules or CommonJS. */
export type ModuleFormat = 'mjs' | 'cjs';

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
  static async start(name: string, work: string, size: number | undefined, setup: { base: string | undefined; without: string | undefined; deferred: boolean; profiled?: boolean; keepIdle?: boolean; pins: Pins; semiSpace: number | undefined }): Promise<PeerProcess> {
    const given = [work, ...(size === undefined ? [] : [String(size)])];
    const env: NodeJS.ProcessEnv = { ...process.env, NODE_ENV: 'production' };
    // These two do so by themselves.
    if (setup.deferred && name !== 'restana' && name !== 'waypost') env['BENCH_DEFERRED'] = '1';
    if (setup.profiled === true) env['BENCH_PROFILE'] = '1';
    if (setup.keepIdle === true) env['BENCH_KEEP_IDLE'] = '1';
    if (name === 'base') Object.assign(env, { WAYPOST_ROOT: setup.base }, setup.without === undefined ? {} : { WAYPOST_WITHOUT: setup.without });
    return PeerProcess.#spawn(name, `peers/${name === 'base' ? 'waypost' : name}.mjs`, given, env, setup.pins, setup.semiSpace);
  }

  /** Starts the peer's smallest program. */
  static async startHello(name: string, format: ModuleFormat, base: string | undefined, pins: Pins): Promise<PeerProcess> {
    const env: NodeJS.ProcessEnv = { ...process.env, NODE_ENV: 'production', ...(name === 'base' ? { WAYPOST_ROOT: base } : {}) };
    return PeerProcess.#spawn(name, `hello/hello.${format}`, [name === 'base' ? 'waypost' : name], env, pins);
  }

  /** Starts a server that writes what another has answered, and looks at no request. */
  static async startBare(answer: unknown, { deferred, semiSpace }: Pick<Settings, 'deferred' | 'semiSpace'>, pins: Pins): Promise<PeerProcess> {
    const directory = mkdtempSync(join(tmpdir(), 'waypost-bare-'));
    try {
      const file = join(directory, 'answer.json');
      writeFileSync(file, JSON.stringify(answer));
      return await PeerProcess.#spawn(BARE, 'peers/bare.mjs', [file], { ...process.env, NODE_ENV: 'production', ...(deferred ? { BENCH_DEFERRED: '1' } : {}) }, pins, semiSpace);
    } finally {
      rmSync(directory, { recursive: true });
    }
  }

  static async #spawn(name: string, file: string, given: readonly string[], env: NodeJS.ProcessEnv, pins: Pins, semiSpace?: number): Promise<PeerProcess> {
    const args = [...(semiSpace === undefined ? [] : [`--min-semi-space-size=${semiSpace}`, `--max-semi-space-size=${Math.max(semiSpace, 16)}`]), '--require', resolve(__dirname, 'probe.cjs'), resolve(__dirname, file), ...given];
    const [command, rest] = pinned(pins.server, process.execPath, args);
    const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], env });
    // Some log every refused request; it is shown only when a peer does not start.
    let said = '';
    child.stderr?.on('data', (chunk: Buffer) => { said = (said + chunk.toString()).slice(-2000); });
    const port = await new Promise<number>((listening, failed) => {
      child.once('error', failed);
      child.once('exit', (code) => failed(new Error(`${name} ${given.join(' ')} ended with ${code} before it listened: ${said}`)));
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

  /** A server that writes what this one answers, and looks at no request. */
  async bare(exchange: Exchange, settings: Pick<Settings, 'deferred' | 'semiSpace'>, pins: Pins): Promise<PeerProcess> {
    return PeerProcess.startBare(await record(this.port, exchange), settings, pins);
  }

  /** What it has used by now. */
  async usage(): Promise<Usage> {
    const told = (await this.ask('usage')) as { cpu: NodeJS.CpuUsage; rss: number };
    return { cpu: told.cpu.user + told.cpu.system, rss: told.rss };
  }

  async collected(): Promise<Memory> {
    return (await this.ask('collected')) as Memory;
  }

  /** Asks what probe.cjs in it answers. */
  async ask(question: Question): Promise<unknown> {
    this.#child.send(question);
    return ((await once(this.#child, 'message')) as [unknown])[0];
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }
}
