import { type Case, GROWING } from './cases';
import type { Load, LoadResult } from './load';
import type { Pins } from './machine';
import { lessIsBetter, moreIsBetter, Pairs } from './pairs';
import { PeerProcess } from './peer-process';
import type { Progress } from './progress';
import type { Measure, PeerResult } from './results';
import { BARE, type Settings, SUBJECT } from './settings';
import { besideSlowClients, SlowClients } from './slow-clients';
import { median, orderOfRound } from './statistics';
import { warmUp, warmUpSeconds } from './warm-up';

/** What all parts of a run need. */
export interface Bench {
  readonly settings: Settings;
  readonly cases: ReadonlyMap<string, Case>;
  readonly load: Load;
  readonly pins: Pins;
  readonly progress: Progress;
}

/** Time beyond the load itself that one run under load takes, in seconds. */
export const RUN_OVERHEAD = 0.05;
/** A start with a check, in seconds. */
export const START = 0.35;
/** Length of a slice, in seconds. A run has an even number, so that each peer goes as often before its neighbour as behind it. */
const SLICE = 0.5;

/** Starts every peer with the case and checks what it answers. The caller stops them. */
export async function startAll(bench: Bench, work: Case, size?: number, names: readonly string[] = [SUBJECT, ...bench.settings.peers], profiled = false): Promise<Map<string, PeerProcess>> {
  const started = new Map<string, PeerProcess>();
  try {
    for (const name of names) {
      const { base, without, deferred, semiSpace } = bench.settings;
      const peer = await PeerProcess.start(name, work.program ?? work.name, size, { base, without, deferred, semiSpace, profiled, pins: bench.pins });
      started.set(name, peer);
      await peer.check(work.exchange(size));
    }
    return started;
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

export async function stopAll(peers: ReadonlyMap<string, PeerProcess>): Promise<void> {
  for (const peer of peers.values()) await peer.stop();
}

/** Checks that all peers do all of the work, before anything is measured. */
export async function checkAll(bench: Bench): Promise<void> {
  const names = checkedCases(bench.settings);
  for (const name of names) {
    const work = bench.cases.get(name) as Case;
    bench.progress.step(`${work.title}: checking the answers`, checkSeconds(bench.settings) / names.length);
    const peers = await startAll(bench, work);
    try {
      for (const peer of peers.values()) await checkPeer(bench, work, peer);
    } finally {
      await stopAll(peers);
    }
  }
}

async function checkPeer({ pins }: Bench, work: Case, peer: PeerProcess): Promise<void> {
  for (const exchange of work.checks()) await peer.check(exchange);
  if (work.slowClients === undefined) return;
  const slow = await SlowClients.start(peer.port, work, pins.load);
  await slow.answered().finally(() => slow.stop());
}

function checkedCases({ cases, parts }: Settings): readonly string[] {
  return parts.includes('growth') ? [...cases, ...GROWING] : cases;
}

export function checkSeconds(settings: Settings): number {
  return (settings.peers.length + 1) * checkedCases(settings).length * START;
}

export function runsOfRound({ peers }: Settings): number {
  return orderOfRound(SUBJECT, peers, 0).flat().length;
}

export function caseSeconds(settings: Settings): number {
  const groups = orderOfRound(SUBJECT, settings.peers, 0, settings.beside);
  // The bare server runs in each group.
  return settings.rounds * (groups.flat().length + groups.length) * runSeconds(settings);
}

function runSeconds({ seconds, warmUp: given }: Settings): number {
  return START + warmUpSeconds(given) + RUN_OVERHEAD + slicesIn(seconds) * (SLICE + RUN_OVERHEAD);
}

function slicesIn(seconds: number): number {
  return 2 * Math.ceil(seconds / SLICE / 2);
}

/** One case. */
export async function compareCase(bench: Bench, work: Case): Promise<Measure[]> {
  const { settings, progress } = bench;
  const pairs = new Pairs<Run>();
  for (let round = 0; round < settings.rounds; round++) {
    await pairs.round(settings.peers, round, (group) => {
      progress.step(`${work.title}: ${group.join(', ')}, round ${round + 1} of ${settings.rounds}`, (group.length + 1) * runSeconds(settings));
      return runGroup(bench, work, group);
    }, settings.beside);
  }
  const measures = measuresOf(work, pairs);
  // One case will do for memory; this one has something of everything.
  if (work.name === 'routed') {
    measures.push(
      { name: 'idle', title: 'memory, idle', unit: 'bytes', peers: pairs.results((run) => run.idle, lessIsBetter) },
      { name: 'loaded', title: 'memory, after load', unit: 'bytes', peers: pairs.results((run) => run.loaded, lessIsBetter) },
    );
  }
  return measures;
}

/** One process, from its start to its end. */
interface Run {
  readonly slices: readonly LoadedRun[];
  /** Processor time for one request above that of the bare server beside it, in microseconds. */
  readonly above: number;
  /** Resident memory before any load and after all of it, in bytes. */
  readonly idle: number;
  readonly loaded: number;
}

/**
 * The runs that are compared with one another, each in a process of its own:
 * V8 decides anew in each what it compiles and how, so runs of one process are
 * no independent samples. All are up at once, and are sent requests in turn, in
 * short slices, forward and then backward, so that a machine that changes its
 * speed favours nobody.
 */
async function runGroup(bench: Bench, work: Case, group: readonly string[]): Promise<ReadonlyMap<string, Run>> {
  const { settings, load } = bench;
  const exchange = work.exchange();
  const connections = work.connections ?? settings.connections;
  const peers = await startAll(bench, work, undefined, group);
  try {
    peers.set(BARE, await (peers.get(SUBJECT) as PeerProcess).bare(exchange, settings, bench.pins));
    const idle = await memoryOf(peers);
    const send = (port: number, seconds: number) => load.send({ port, exchange, connections, seconds });
    for (const { port } of peers.values()) await besideSlowClients(port, work, bench.pins.load, () => warmUp((seconds) => send(port, seconds), settings.warmUp));
    const slices = new Map<string, LoadedRun[]>([...peers.keys()].map((name) => [name, []]));
    for (let i = 0; i < slicesIn(settings.seconds); i++) {
      for (const [name, peer] of i % 2 === 0 ? peers : [...peers].reverse()) {
        const measure = () => loadedRun(peer, () => send(peer.port, SLICE));
        slices.get(name)?.push(await besideSlowClients(peer.port, work, bench.pins.load, measure));
      }
    }
    const loaded = await memoryOf(peers);
    const bare = costOf(slices.get(BARE) ?? []);
    return new Map(group.map((name) => {
      const own = slices.get(name) ?? [];
      return [name, { slices: own, above: costOf(own) - bare, idle: idle.get(name) ?? NaN, loaded: loaded.get(name) ?? NaN }];
    }));
  } finally {
    await stopAll(peers);
  }
}

async function memoryOf(peers: ReadonlyMap<string, PeerProcess>): Promise<ReadonlyMap<string, number>> {
  const memory = new Map<string, number>();
  for (const [name, peer] of peers) memory.set(name, (await peer.usage()).rss);
  return memory;
}

/** All requests of the run by all of its time: what a server does now and then, such as to collect its garbage, counts. */
function rateOf({ slices }: Run): number {
  return sum(slices, (slice) => slice.requests) / sum(slices, (slice) => slice.seconds);
}

function costOf(slices: readonly LoadedRun[]): number {
  return sum(slices, (slice) => slice.cpu * slice.requests) / sum(slices, (slice) => slice.requests);
}

function sum(slices: readonly LoadedRun[], valueOf: (slice: LoadedRun) => number): number {
  return slices.reduce((all, slice) => all + valueOf(slice), 0);
}

interface LoadedRun extends LoadResult {
  /** Processor time for one request, in microseconds. */
  readonly cpu: number;
}

/** A run of the load, with the processor time that the peer took for it. */
export async function loadedRun(peer: PeerProcess, send: () => Promise<LoadResult>): Promise<LoadedRun> {
  const before = await peer.usage();
  const result = await send();
  const after = await peer.usage();
  return { ...result, cpu: (after.cpu - before.cpu) / result.requests };
}

function measuresOf({ name, title }: Case, pairs: Pairs<Run>): Measure[] {
  const rates = pairs.results(rateOf, moreIsBetter);
  for (const [peer, runs] of pairs.all) {
    const slices = runs.flatMap((run) => run.slices);
    rates[peer] = {
      ...(rates[peer] as PeerResult),
      p50: median(slices.map((slice) => slice.p50)),
      p99: median(slices.map((slice) => slice.p99)),
      failures: sum(slices, (slice) => slice.failures),
    };
  }
  return [
    { name, title, unit: 'requests/s', peers: rates },
    { name: `${name}-cpu`, title, unit: 'µs', peers: pairs.results(({ slices }) => costOf(slices), lessIsBetter) },
    { name: `${name}-above`, title, unit: 'µs above bare', peers: pairs.results((run) => run.above, lessIsBetter) },
  ];
}
