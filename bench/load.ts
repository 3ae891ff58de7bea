import { execFile, execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Exchange } from './cases';
import { wireText } from './exchange';
import { pinned } from './machine';

const run = promisify(execFile);

/** One run of the load. */
export interface LoadRun {
  readonly port: number;
  readonly exchange: Exchange;
  readonly connections: number;
  /** May be a fraction. */
  readonly seconds: number;
}

/** What one run came to. */
export interface LoadResult {
  readonly requests: number;
  /** How long it took, in seconds. */
  readonly seconds: number;
  /** Latency in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** Answers with a status of 400 and above. */
  readonly refusals: number;
  /** Connections that failed, and answers that took more than ten seconds. */
  readonly failures: number;
}

/** Time beyond what was asked for that a load takes to stop, in seconds; wrk looks at its clock ten times a second. */
const MOST_OVERTIME = 0.3;
/** How often a load that a stopped machine spoilt is sent again. */
const MOST_AGAIN = 3;

/** A program that sends requests as fast as they are answered, from a process of its own. */
export abstract class Load {
  abstract readonly name: string;
  protected readonly core: number | undefined;
  #directory: string | undefined;
  readonly #written = new Map<string, string>();

  constructor(core: number | undefined) {
    this.core = core;
  }

  /** wrk where it is installed, since it takes the least of its core; else autocannon, which comes with the package. */
  static find(wanted: 'wrk' | 'autocannon' | undefined, core: number | undefined): Load {
    if (wanted === 'autocannon') return new Autocannon(core);
    try {
      return new Wrk(core);
    } catch (error) {
      if (wanted === 'wrk') throw new Error('wrk is not installed; leave --load out to use autocannon', { cause: error });
      process.stderr.write('wrk is not installed: autocannon, which tells peers less apart, is the load (Debian: apt-get install wrk).\n');
      return new Autocannon(core);
    }
  }

  /** @throws Error when an answer has another kind of status than wanted, or there was none at all. */
  async send(wanted: LoadRun): Promise<LoadResult> {
    let result = await this.measure(wanted);
    // The machine may have stopped for a moment, or the load have been told to stop before it could hear it: so it is sent again.
    for (let again = 0; again < MOST_AGAIN && (result.requests === 0 || result.seconds > wanted.seconds + MOST_OVERTIME); again++) {
      result = await this.measure(wanted);
    }
    const { requests, refusals } = result;
    if (requests === 0) throw new Error(`${wanted.exchange.target} was not answered once within ${wanted.seconds} s`);
    const expected = wanted.exchange.status < 400 ? 0 : requests;
    if (refusals !== expected) throw new Error(`${refusals} of ${requests} answers to ${wanted.exchange.target} were refusals, instead of ${expected}`);
    return result;
  }

  close(): void {
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true });
  }

  protected abstract measure(wanted: LoadRun): Promise<LoadResult>;

  protected file(name: string, text: string): string {
    this.#directory ??= mkdtempSync(join(tmpdir(), 'waypost-load-'));
    const path = join(this.#directory, name);
    // Another load may be reading it.
    if (this.#written.get(name) !== text) writeFileSync(path, text);
    this.#written.set(name, text);
    return path;
  }

  /** @param seconds after which it is told to stop; without, it stops by itself. */
  protected async execute(command: string, args: readonly string[], seconds?: number): Promise<string> {
    const [pinnedCommand, rest] = pinned(this.core, command, args);
    const running = run(pinnedCommand, rest, { maxBuffer: 2 ** 24 });
    const stop = seconds === undefined ? undefined : setTimeout(() => running.child.kill('SIGINT'), seconds * 1000);
    try {
      return (await running).stdout;
    } finally {
      clearTimeout(stop);
    }
  }
}

/** wrk and autocannon take any certificate. */
function urlOf(port: number, { target, ca }: Exchange): string {
  return `${ca === undefined ? 'http' : 'https'}://127.0.0.1:${port}${target}`;
}

class Wrk extends Load {
  readonly name: string;

  constructor(core: number | undefined) {
    super(core);
    this.name = versionOfWrk();
  }

  protected override async measure({ port, exchange, connections, seconds }: LoadRun): Promise<LoadResult> {
    // The request as it is: of `wrk.headers` each wrk makes an order of its own, and V8 compiles anew what reads the fields of another.
    const lines = [`local text = io.open(${lua(this.file('request', wireText(port, exchange).repeat(exchange.pipelined ?? 1)))}, 'rb'):read('*a')`, 'wrk.format = function() return text end'];
    lines.push(`function done(all, latency)
      local e = all.errors
      print(string.format('RESULT [%d, %d, %d, %d, %d, %d]', all.requests, all.duration, latency:percentile(50), latency:percentile(99), e.status, e.connect + e.read + e.write + e.timeout))
    end`);
    const args = ['-t', '1', '-c', String(connections), '-d', `${Math.ceil(seconds)}s`, '--timeout', '10s', '-s', this.file('load.lua', lines.join('\n')), urlOf(port, exchange)];
    // It takes whole seconds only. Told to stop, it does so within a tenth of a second, and tells the time that it took.
    const told = await this.execute('wrk', args, Number.isInteger(seconds) ? undefined : seconds);
    const figures = /^RESULT (.*)$/m.exec(told)?.[1] ?? '[]';
    const [requests = 0, duration = 1, p50 = 0, p99 = 0, refusals = 0, failures = 0] = JSON.parse(figures) as number[];
    return { requests, seconds: duration / 1e6, p50: p50 / 1e3, p99: p99 / 1e3, refusals, failures };
  }
}

/** Its usage is answered with status 1, and begins with its name. */
function versionOfWrk(): string {
  try {
    return execFileSync('wrk', ['-v'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).split(' [')[0] ?? 'wrk';
  } catch (error) {
    const { stdout } = error as { stdout?: string };
    if (stdout === undefined || !stdout.startsWith('wrk')) throw error;
    return (stdout.split(' [')[0] ?? 'wrk').replace(/^wrk .*?(\d+\.\d+\.\d+).*$/, 'wrk $1');
  }
}

/** A literal of Lua; what is passed holds no control characters. */
function lua(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

interface AutocannonResult {
  readonly requests: { readonly total: number };
  readonly start: string;
  readonly finish: string;
  readonly latency: { readonly p50: number; readonly p99: number };
  readonly '4xx': number;
  readonly '5xx': number;
  readonly errors: number;
  readonly timeouts: number;
}

class Autocannon extends Load {
  readonly name = 'autocannon';

  protected override async measure({ port, exchange, connections, seconds }: LoadRun): Promise<LoadResult> {
    // It stops only when it takes a sample: with the default, after whole seconds.
    const args = [resolve(__dirname, 'node_modules/autocannon/autocannon.js'), '--json', '--no-progress', '-c', String(connections), '-d', `${seconds * 1000}ms`, '-L', String(seconds * 1000), '-p', String(exchange.pipelined ?? 1), '-m', exchange.method];
    for (const [name, value] of Object.entries(exchange.headers)) args.push('-H', `${name}=${value}`);
    if (exchange.body !== undefined) args.push('-i', this.file('body', exchange.body));
    args.push(urlOf(port, exchange));
    const result = JSON.parse(await this.execute(process.execPath, args)) as AutocannonResult;
    const { total } = result.requests;
    return {
      requests: total,
      seconds: (Date.parse(result.finish) - Date.parse(result.start)) / 1000,
      p50: result.latency.p50,
      p99: result.latency.p99,
      refusals: result['4xx'] + result['5xx'],
      failures: result.errors + result.timeouts,
    };
  }
}
