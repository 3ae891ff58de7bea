/**
 * Counts the instructions that a request costs each peer's process, by valgrind, and prints them as Markdown:
 * `npm run bench:instructions -- [--node 24,26] [--cases a,b] [--peers a,b] [--base directory]`. Unlike time they are all but the same
 * whatever else the machine does. They tell nothing of what memory and the kernel take.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { type Case, type Exchange, loadCases } from './cases';
import { wireText } from './exchange';
import { nodeOf } from './nodes';
import { readSettings, type Settings, SUBJECT } from './settings';

/** Requests before what is counted: V8 has compiled by then what it will. */
const WARM = 10_000;
/** Requests that are counted. */
const COUNTED = 20_000;
/** Requests that are under way at once, each on a connection of its own. */
const CONNECTIONS = 16;
/** How often a connection is made anew at most. */
const MOST_TRIES = 10;
/** Cases whose requests are small enough to be sent so often. */
const COUNTABLE: readonly string[] = ['static', 'routed', 'post', 'signed', 'notfound', 'routes', 'nested', 'middleware'];

const VALGRIND = ['--tool=cachegrind', '--cache-sim=no', '--cachegrind-out-file=/dev/null', '--smc-check=all-non-file'];

/** What of one case is counted. */
interface Run {
  readonly node: string;
  readonly peer: string;
  readonly work: Case;
  readonly base: string | undefined;
}

/** Instructions for one request: those of a longer run less those of a shorter one. */
async function countOf(run: Run): Promise<number> {
  const [short, long] = [await instructionsOf(run, WARM), await instructionsOf(run, WARM + COUNTED)];
  return (long - short) / COUNTED;
}

/** All that a process takes from its start until it has answered so many requests. */
async function instructionsOf({ node, peer, work, base }: Run, requests: number): Promise<number> {
  const directory = mkdtempSync(join(tmpdir(), 'waypost-instructions-'));
  const log = join(directory, 'log');
  const file = resolve(__dirname, `peers/${peer === 'base' ? 'waypost' : peer}.mjs`);
  const env = { ...process.env, NODE_ENV: 'production', ...(peer === 'base' ? { WAYPOST_ROOT: base } : {}) };
  const child = spawn('valgrind', [...VALGRIND, `--log-file=${log}`, node, file, work.program ?? work.name], { stdio: ['ignore', 'pipe', 'inherit'], env });
  try {
    const port = await portOf(child, peer);
    await sendAll(port, work.exchange(), requests);
    const ended = once(child, 'exit');
    // It has no listener for it: valgrind writes what it has counted, and ends.
    child.kill('SIGTERM');
    await ended;
    const counted = /I\s+refs:\s+([\d,]+)/.exec(readFileSync(log, 'utf8'))?.[1];
    if (counted === undefined) throw new Error(`valgrind has counted nothing of ${peer}: ${readFileSync(log, 'utf8').slice(-1000)}`);
    return Number(counted.replaceAll(',', ''));
  } finally {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  }
}

function portOf(child: ChildProcess, peer: string): Promise<number> {
  return new Promise((listening, failed) => {
    child.once('error', () => failed(new Error('valgrind is not installed (Debian: apt-get install valgrind)')));
    child.once('exit', (code) => failed(new Error(`${peer} ended with ${code} before it listened`)));
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).once('line', (line) => listening(Number(line)));
  });
}

/** Sends the request that often, the next on a connection when the one before is answered. */
async function sendAll(port: number, exchange: Exchange, requests: number): Promise<void> {
  const left = { count: requests };
  await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
    // A server that is slowed down so much may take a connection for one that stands still.
    for (let tries = 0; left.count > 0; tries++) {
      await sendOn(port, exchange, left).catch((error: unknown) => {
        if (tries === MOST_TRIES) throw error;
      });
    }
  }));
}

/** The same on one connection. */
function sendOn(port: number, exchange: Exchange, left: { count: number }): Promise<void> {
  return new Promise((done, failed) => {
    const text = wireText(port, exchange);
    const socket = connect(port, '127.0.0.1');
    let answer = '';
    const next = (): void => {
      if (left.count > 0) {
        socket.write(text);
        return;
      }
      socket.destroy();
      done();
    };
    socket.setNoDelay(true).setEncoding('latin1').on('connect', next).on('error', failed);
    socket.on('close', () => failed(new Error(`the connection was closed behind: ${answer}`)));
    socket.on('data', (part: string) => {
      answer += part;
      const head = answer.indexOf('\r\n\r\n');
      const length = /\r\ncontent-length: (\d+)/i.exec(answer)?.[1];
      if (head === -1 || answer.length < head + 4 + Number(length ?? 0)) return;
      if (!answer.startsWith(`HTTP/1.1 ${exchange.status} `)) failed(new Error(`another answer than ${exchange.status}: ${answer.slice(0, 200)}`));
      answer = '';
      left.count--;
      next();
    });
  });
}

/** Calls for each of a list, as many at once as there are cores: what is counted does not depend on it. */
async function eachAtOnce<T>(list: readonly T[], call: (each: T) => Promise<void>): Promise<void> {
  const left = [...list];
  await Promise.all(cpus().map(async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await call(next);
  }));
}

function tableOf(works: readonly Case[], peers: readonly string[], counts: ReadonlyMap<string, number>): string {
  const [, ...others] = peers;
  const rows = works.map((work) => {
    const own = counts.get(`${SUBJECT} ${work.name}`) as number;
    const ratios = others.map((peer) => ((counts.get(`${peer} ${work.name}`) as number) / own).toFixed(2));
    return `| ${work.title} | ${Math.round(own / 1000)} | ${ratios.join(' | ')} |`;
  });
  return [`| thousands of instructions a request | ${SUBJECT} = 1.00 | ${others.join(' | ')} |`, `| --- | --: | ${others.map(() => '--:').join(' | ')} |`, ...rows].join('\n');
}

async function countAll({ base, cases, peers }: Settings, node: string): Promise<void> {
  const all = await loadCases();
  const works = cases.filter((name) => COUNTABLE.includes(name)).map((name) => all.get(name) as Case);
  const names = [SUBJECT, ...peers];
  const counts = new Map<string, number>();
  await eachAtOnce(works.flatMap((work) => names.map((peer): Run => ({ node, peer, work, base }))), async (run) => {
    counts.set(`${run.peer} ${run.work.name}`, await countOf(run));
    process.stderr.write(`${run.work.title}, ${run.peer}: ${Math.round(counts.get(`${run.peer} ${run.work.name}`) as number)}\n`);
  });
  console.log(`Node ${execFileSync(node, ['--version'], { encoding: 'utf8' }).trim().slice(1)}, ${COUNTED} requests behind ${WARM}, ${CONNECTIONS} connections.\n\n${tableOf(works, names, counts)}\n`);
}

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2));
  if (settings === undefined) return;
  const nodes = settings.nodes.length === 0 ? [process.execPath] : settings.nodes.map(nodeOf);
  for (const node of nodes) await countAll(settings, node);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
