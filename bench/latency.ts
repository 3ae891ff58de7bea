import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import type { Case, Exchange } from './cases';
import { type Bench, RUN_OVERHEAD, runsOfRound, START, startAll, stopAll } from './comparison';
import { wireText } from './exchange';
import { pinned } from './machine';
import { lessIsBetter, Pairs } from './pairs';
import type { PeerProcess } from './peer-process';
import type { Measure } from './results';
import type { Settings } from './settings';
import { median, percentile } from './statistics';
import { warmUp, warmUpSeconds } from './warm-up';

const run = promisify(execFile);

const CONNECTIONS = [64, 1000] as const;
/** What part of the slowest one's throughput all are sent, unless `--rate` says how many. */
const SHARE = 0.6;
/** Length of a slice, in seconds: a thousand connections take a while to be made. */
const SLICE = 1;

/** What one run of the paced load came to. */
export interface PacedRun {
  /** From when each request was due to its answer, in milliseconds. */
  readonly took: readonly number[];
  /** How much later than due the load itself came to each request, in milliseconds. */
  readonly late: readonly number[];
}

/**
 * Sends requests at a fixed rate, whatever becomes of them.
 * @param rate Requests a second, over all connections.
 * @param core that it is pinned to, and keeps busy.
 * @throws Error when an answer has another status than 200, is missing after ten seconds, or a connection is closed.
 */
export async function sendPaced(port: number, exchange: Exchange, load: { connections: number; rate: number; seconds: number }, core: number | undefined): Promise<PacedRun> {
  const [command, args] = pinned(core, process.execPath, [resolve(__dirname, 'paced.mjs'), JSON.stringify({ port, request: wireText(port, exchange), ...load })]);
  const { stdout } = await run(command, args, { maxBuffer: 2 ** 28 }).catch((error: Error & { stderr?: string }) => {
    throw new Error(`the paced load of ${exchange.target}: ${error.stderr || error.message}`, { cause: error });
  });
  const { took, late } = JSON.parse(stdout) as PacedRun;
  return { took: took.map((microseconds) => microseconds / 1000), late: late.map((microseconds) => microseconds / 1000) };
}

/** Of all requests over that many connections, in milliseconds; `late` is the 99th percentile. */
interface Latency {
  readonly p50: number;
  readonly p99: number;
  readonly late: number;
  /** Processor time for one request, in microseconds. */
  readonly cpu: number;
}

/** Of one process, by the number of connections. */
type Latencies = ReadonlyMap<number, Latency>;

function slicesIn({ seconds }: Settings): number {
  return 2 * Math.ceil(seconds / SLICE / 2);
}

function runSeconds(settings: Settings): number {
  return START + warmUpSeconds() + CONNECTIONS.length * slicesIn(settings) * (SLICE + 4 * RUN_OVERHEAD);
}

function probeSeconds({ peers, rate }: Settings): number {
  return rate === undefined ? (peers.length + 1) * (START + warmUpSeconds() + CONNECTIONS.length * (SLICE + RUN_OVERHEAD)) : 0;
}

export function latencySeconds(settings: Settings): number {
  return probeSeconds(settings) + settings.rounds * runsOfRound(settings) * runSeconds(settings);
}

/** Median and 99th percentile of what clients wait, and the server's processor time, at the same rate for all. */
export async function compareLatencies(bench: Bench): Promise<Measure[]> {
  const { settings, progress } = bench;
  const work = bench.cases.get('routed') as Case;
  const rate = settings.rate ?? (await shareOfSlowest(bench, work));
  const pairs = new Pairs<Latencies>();
  for (let round = 0; round < settings.rounds; round++) {
    await pairs.round(settings.peers, round, (group) => {
      progress.step(`latency at ${rate.toLocaleString('en')} requests/s: ${group.join(', ')}, round ${round + 1} of ${settings.rounds}`, group.length * runSeconds(settings));
      return runGroup(bench, work, group, rate);
    });
  }
  const costs = CONNECTIONS.map((connections): Measure => ({
    name: `latency-${connections}-cpu`,
    title: `${rate.toLocaleString('en')} requests/s over ${connections.toLocaleString('en')} connections`,
    unit: 'µs',
    peers: pairs.results((latencies) => latencies.get(connections)?.cpu ?? NaN, lessIsBetter),
  }));
  return CONNECTIONS.flatMap((connections) => {
    const late = median([...pairs.all.values()].flat().map((latencies) => latencies.get(connections)?.late ?? NaN));
    return ([['p50', 'median'], ['p99', '99th percentile']] as const).map(([name, title]): Measure => ({
      name: `latency-${connections}-${name}`,
      title: `latency, ${title}, ${connections.toLocaleString('en')} connections`,
      unit: 'ms of latency',
      rate,
      late,
      peers: pairs.results((latencies) => latencies.get(connections)?.[name] ?? NaN, lessIsBetter),
    }));
  }).concat(costs);
}

/** A rate that the slowest of those that are compared can bear with any number of the connections. */
async function shareOfSlowest(bench: Bench, work: Case): Promise<number> {
  bench.progress.step('latency: how much the slowest serves', probeSeconds(bench.settings));
  const peers = await startAll(bench, work);
  let slowest = Infinity;
  try {
    for (const peer of peers.values()) {
      await warm(bench, work, peer);
      for (const connections of CONNECTIONS) {
        const { requests, seconds } = await bench.load.send({ port: peer.port, exchange: work.exchange(), connections, seconds: SLICE });
        slowest = Math.min(slowest, requests / seconds);
      }
    }
  } finally {
    await stopAll(peers);
  }
  return Math.max(100, Math.round((slowest * SHARE) / 100) * 100);
}

function warm({ load, settings }: Bench, work: Case, { port }: PeerProcess): Promise<unknown> {
  const exchange = work.exchange();
  return warmUp((seconds) => load.send({ port, exchange, connections: settings.connections, seconds }));
}

/** As in a comparison of throughput: all are up at once, and take turns in slices. */
async function runGroup(bench: Bench, work: Case, group: readonly string[], rate: number): Promise<ReadonlyMap<string, Latencies>> {
  const exchange = work.exchange();
  const peers = await startAll(bench, work, undefined, group);
  try {
    for (const peer of peers.values()) await warm(bench, work, peer);
    const found = new Map<string, Map<number, Latency>>(group.map((name) => [name, new Map()]));
    for (const connections of CONNECTIONS) {
      const runs = new Map<string, (PacedRun & { readonly cpu: number })[]>(group.map((name) => [name, []]));
      for (let i = 0; i < slicesIn(bench.settings); i++) {
        for (const [name, peer] of i % 2 === 0 ? peers : [...peers].reverse()) {
          const before = await peer.usage();
          const sent = await sendPaced(peer.port, exchange, { connections, rate, seconds: SLICE }, bench.pins.load);
          runs.get(name)?.push({ ...sent, cpu: (await peer.usage()).cpu - before.cpu });
        }
      }
      for (const [name, slices] of runs) {
        const took = slices.flatMap((slice) => slice.took);
        const cpu = slices.reduce((all, slice) => all + slice.cpu, 0) / took.length;
        found.get(name)?.set(connections, { p50: percentile(took, 50), p99: percentile(took, 99), late: percentile(slices.flatMap((slice) => slice.late), 99), cpu });
      }
    }
    return found;
  } finally {
    await stopAll(peers);
  }
}
