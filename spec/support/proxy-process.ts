import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freePorts } from './free-ports';

/** How a proxy is started: its program, what it is told, and its configuration. */
export interface ProxyProgram {
  readonly command: string;
  /** Debian's package of it. @default the command's own */
  readonly packageName?: string;
  args(folder: string, port: number): readonly string[];
  /** Contents of the file `configuration` in its folder. */
  configuration(folder: string, port: number): string;
  /** Name of that file. @default configuration */
  readonly file?: string;
  /** Packages of Node that it uses: a folder that holds node_modules. */
  readonly packages?: string;
  readonly environment?: Readonly<Record<string, string>>;
}

/** A real proxy in a process of its own, on a free port. */
export class ProxyProcess {
  readonly port: number;
  readonly #folder: string;
  readonly #child: ChildProcess;

  private constructor(port: number, folder: string, child: ChildProcess) {
    this.port = port;
    this.#folder = folder;
    this.#child = child;
  }

  /** @throws Error that says so where it is not installed. */
  static async start({ command, packageName = command, args, configuration, file = 'configuration', packages, environment }: ProxyProgram): Promise<ProxyProcess> {
    const [port = 0] = await freePorts(1);
    const folder = mkdtempSync(join(tmpdir(), 'waypost-proxy-'));
    // Started by root it goes on as another user.
    chmodSync(folder, 0o777);
    writeFileSync(join(folder, file), configuration(folder, port));
    if (packages !== undefined) symlinkSync(join(packages, 'node_modules'), join(folder, 'node_modules'));
    const child = spawn(command, args(folder, port), { cwd: folder, env: { ...process.env, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (said += text));
    const failed = new Promise<never>((_, reject) => {
      child.once('error', (error) => reject(new Error(`${command} could not be run; install it, as by "apt-get install ${packageName}"`, { cause: error })));
      child.once('exit', (code) => reject(new Error(`${command} has ended with ${String(code)}: ${said}`)));
    });
    failed.catch(() => undefined);
    const proxy = new ProxyProcess(port, folder, child);
    try {
      await Promise.race([proxy.#isUp(), failed]);
    } catch (error) {
      await proxy.close();
      throw error;
    }
    return proxy;
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
