import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Case } from './cases';
import { wireText } from './exchange';
import { pinned } from './machine';

/** The program slow.mjs, on the core of the load. */
export class SlowClients {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  #said = '';

  private constructor(child: ChildProcess) {
    this.#child = child;
    this.#lines = createInterface({ input: child.stdout as NodeJS.ReadableStream })[Symbol.asyncIterator]();
    child.stderr?.on('data', (chunk: Buffer) => { this.#said += chunk.toString(); });
  }

  /** Resolves once all have sent the beginning of their requests. */
  static async start(port: number, work: Case, core: number | undefined): Promise<SlowClients> {
    const told = JSON.stringify({ port, request: wireText(port, work.exchange()), clients: work.slowClients });
    const [command, args] = pinned(core, process.execPath, [resolve(__dirname, 'slow.mjs'), told]);
    const slow = new SlowClients(spawn(command, args));
    await slow.#line().catch((error: unknown) => slow.stop().then(() => { throw error; }));
    return slow;
  }

  /** Resolves once each has been answered. @throws Error when one was refused or cut off. */
  async answered(): Promise<void> {
    await this.#line();
  }

  /** @throws Error when one was refused or cut off. */
  async stop(): Promise<void> {
    if (this.#child.exitCode === null) {
      const gone = once(this.#child, 'close');
      this.#child.stdin?.end();
      await gone;
    }
    if (this.#child.exitCode !== 0) throw new Error(`slow clients: ${this.#said}`);
  }

  async #line(): Promise<void> {
    const { done } = await this.#lines.next();
    if (done === true) throw new Error(`slow clients: ${this.#said}`);
  }
}

/** Measures beside the slow clients of the case, where it has any. */
export async function besideSlowClients<T>(port: number, work: Case, core: number | undefined, measure: () => Promise<T>): Promise<T> {
  if (work.slowClients === undefined) return measure();
  const slow = await SlowClients.start(port, work, core);
  const result = await measure().catch(async (error: unknown) => {
    await slow.stop();
    throw error;
  });
  await slow.stop();
  return result;
}
