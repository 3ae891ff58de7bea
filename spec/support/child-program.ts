import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, dirname, resolve } from 'node:path';

/** The repository's directory: programs run here, as its readers run them. */
export const ROOT = resolve(__dirname, '../..');

/** What a program's environment must not bring from this one: a proxy, another secret, another kind of error body. */
export const ENVIRONMENT: NodeJS.ProcessEnv = {
  ...process.env,
  PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
  NODE_ENV: 'production',
  DEMO_SECRET: '',
  NO_PROXY: '*',
  no_proxy: '*',
};

/** What Node is given for a program of this directory that loads the library from lib/, as it stands. */
export const FROM_LIB: readonly string[] = ['-r', './spec/support/transpiled.cjs'];

/** How a program ended, and all that it printed. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
  readonly errors: string;
}

/** A program of Node in a process of its own. */
export class ChildProgram {
  readonly #child: ChildProcess;
  readonly #ended: Promise<Ending>;
  #output = '';
  #errors = '';

  private constructor(args: readonly string[], environment: NodeJS.ProcessEnv) {
    const child = spawn(process.execPath, args, { cwd: ROOT, env: { ...ENVIRONMENT, ...environment }, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.#output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#errors += text));
    this.#child = child;
    this.#ended = once(child, 'close').then(([code, signal]) => ({ code: code as number | null, signal: signal as NodeJS.Signals | null, output: this.#output, errors: this.#errors }));
  }

  /** Runs a program to its end. */
  static run(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Promise<Ending> {
    return new ChildProgram(args, environment).#ended;
  }

  /** Starts a server on a free port, and waits for the line that names its address. */
  static async serve(file: string, environment: NodeJS.ProcessEnv = {}): Promise<ChildProgram> {
    const program = new ChildProgram([file], { PORT: '0', ...environment });
    const listening = new Promise<void>((done) => {
      program.#child.stdout?.on('data', () => {
        if (program.#address !== undefined) done();
      });
    });
    await Promise.race([listening, program.#ended]);
    if (program.#address === undefined) throw new Error(`${file} has not started: ${program.#output}${program.#errors}`);
    return program;
  }

  get #address(): RegExpExecArray | undefined {
    return /^Listening on (https?:\/\/localhost:(\d+))$/m.exec(this.#output) ?? undefined;
  }

  /** Where it listens, such as `http://localhost:3000`. */
  get origin(): string {
    return this.#address?.[1] ?? '';
  }

  get port(): number {
    return Number(this.#address?.[2]);
  }

  /** Ends it by SIGTERM, and waits until it is gone. */
  stop(): Promise<Ending> {
    this.#child.kill('SIGTERM');
    return this.#ended;
  }
}
