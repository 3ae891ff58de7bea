import type { Case } from './cases';
import type { Load, LoadResult } from './load';
import type { Pins } from './machine';
import { PeerProcess } from './peer-process';
import type { Progress } from './progress';
import type { Measure, PeerResult } from './results';
import { type Settings, SUBJECT } from './settings';
import { median, medianInterval, orderOfRound } from './statistics';

/** What all parts of a run need. */
export interface Bench {
  readonly settings: Settings;
  readonly cases: ReadonlyMap<string, Case>;
  readonly load: Load;
  readonly pins: Pins;
  readonly progress: Progress;
}

/** Time beyond the load itself that one run takes, in seconds. */
const RUN_OVERHEAD = 0.15;
/** A start with the checks, in seconds. */
const START = 0.6;
/** Compilers have settled after that much load, in seconds. */
const WARM_UP = 1;

/** What was measured of each peer, and which runs stood side by side. */
class Pairs<T> {
  readonly all = new Map<string, T[]>();
  readonly #beside = new Map<string, [subject: T, peer: T][]>();

  /** Runs every peer once, each beside a run of the subject. */
  async round(peers: readonly string[], round: number, run: (name: string) => Promise<T>): Promise<void> {
    for (const group of orderOfRound(SUBJECT, peers, round)) {
      const found = new Map<string, T>();
      for (const name of group) {
        const result = await run(name);
        found.set(name, result);
        push(this.all, name, result);
      }
      const subject = found.get(SUBJECT) as T;
      for (const [name, result] of found) if (name !== SUBJECT) push(this.#beside, name, [subject, result]);
    }
  }

  /** @param better of the subject's value and the peer's, in this order: above 1 where the subject does better. */
  results(valueOf: (result: T) => number, better: (subject: number, peer: number) => number): Record<string, PeerResult> {
    const results: Record<string, PeerResult> = {};
    for (const [name, all] of this.all) {
      const ratios = (this.#beside.get(name) ?? []).map(([subject, peer]) => better(valueOf(subject), valueOf(peer)));
      results[name] = { values: all.map(valueOf), ratios, ratio: ratios.length === 0 ? undefined : medianInterval(ratios) };
    }
    return results;
  }
}

const moreIsBetter = (subject: number, peer: number): number => subject / peer;
const lessIsBetter = (subject: number, peer: number): number => peer / subject;

/** Starts every peer with the case and checks what it answers. The caller stops them. */
async function startAll(bench: Bench, work: Case, size?: number, names: readonly string[] = [SUBJECT, ...bench.settings.peers]): Promise<Map<string, PeerProcess>> {
  const started = new Map<string, PeerProcess>();
  try {
    for (const name of names) {
      const peer = await PeerProcess.start(name, work.name, size, { base: bench.settings.base, pins: bench.pins });
      started.set(name, peer);
      await peer.check(work.exchange(size));
    }
    return started;
  } catch (error) {
    await stopAll(started);
    throw error;
  }
}

async function stopAll(peers: ReadonlyMap<string, PeerProcess>): Promise<void> {
  for (const peer of peers.values()) await peer.stop();
}

/** Checks that all peers do all of the work, before anything is measured. */
export async function checkAll(bench: Bench): Promise<void> {
  for (const name of bench.settings.cases) {
    const work = bench.cases.get(name) as Case;
    bench.progress.step(`${work.title}: checking the answers`, checkSeconds(bench.settings) / bench.settings.cases.length);
    const peers = await startAll(bench, work);
    try {
      for (const peer of peers.values()) for (const exchange of work.checks()) await peer.check(exchange);
    } finally {
      await stopAll(peers);
    }
  }
}

export function checkSeconds({ peers, cases }: Settings): number {
  return (peers.length + 1) * cases.length * START;
}

function runsOfRound({ peers }: Settings): number {
  return orderOfRound(SUBJECT, peers, 0).flat().length;
}

export function caseSeconds(settings: Settings): number {
  const { peers, seconds, rounds } = settings;
  return rounds * ((peers.length + 1) * (START + WARM_UP) + runsOfRound(settings) * (seconds + RUN_OVERHEAD));
}

/** One case. */
export async function compareCase(bench: Bench, work: Case): Promise<Measure[]> {
  const found: Found = { pairs: new Pairs(), idle: new Pairs(), loaded: new Pairs() };
  for (let round = 0; round < bench.settings.rounds; round++) await compareOnce(bench, work, found, round);
  const measures = measuresOf(work, found.pairs);
  // One case will do for memory; this one has something of everything.
  return work.name === 'routed' ? [...measures, memoryMeasure('idle', 'memory, idle', found.idle), memoryMeasure('loaded', 'memory, after load', found.loaded)] : measures;
}

interface Found {
  readonly pairs: Pairs<LoadedRun>;
  /** Resident memory, in bytes. */
  readonly idle: Pairs<number>;
  readonly loaded: Pairs<number>;
}

/**
 * One round: all peers are up, warm and idle, and take the load in turn. Each
 * round has processes of its own. V8 decides anew in each what it compiles and
 * how, so rounds in one process are no independent samples.
 */
async function compareOnce(bench: Bench, work: Case, { pairs, idle, loaded }: Found, round: number): Promise<void> {
  const { settings, progress, load } = bench;
  const { connections, seconds } = settings;
  progress.step(`${work.title}: start`, (settings.peers.length + 1) * START);
  const peers = await startAll(bench, work);
  const memory = async (name: string): Promise<number> => (await (peers.get(name) as PeerProcess).usage()).rss;
  try {
    await idle.round(settings.peers, round, memory);
    for (const { port, name } of peers.values()) {
      progress.step(`${work.title}: ${name}, warm-up`, WARM_UP);
      await load.send({ port, exchange: work.exchange(), connections, seconds: WARM_UP });
    }
    await pairs.round(settings.peers, round, (name) => {
      progress.step(`${work.title}: ${name}, round ${round + 1} of ${settings.rounds}`, seconds + RUN_OVERHEAD);
      const peer = peers.get(name) as PeerProcess;
      return loadedRun(peer, () => load.send({ port: peer.port, exchange: work.exchange(), connections, seconds }));
    });
    await loaded.round(settings.peers, round, memory);
  } finally {
    await stopAll(peers);
  }
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

function measuresOf({ name, title }: Case, pairs: Pairs<LoadedRun>): Measure[] {
  const rates = pairs.results((run) => run.perSecond, moreIsBetter);
  for (const [peer, runs] of pairs.all) {
    rates[peer] = {
      ...(rates[peer] as PeerResult),
      p50: median(runs.map((run) => run.p50)),
      p99: median(runs.map((run) => run.p99)),
      failures: runs.reduce((sum, run) => sum + run.failures, 0),
    };
  }
  return [
    { name, title, unit: 'requests/s', peers: rates },
    { name: `${name}-cpu`, title, unit: 'µs', peers: pairs.results((run) => run.cpu, lessIsBetter) },
  ];
}

function memoryMeasure(name: string, title: string, found: Pairs<number>): Measure {
  return { name, title, unit: 'bytes', peers: found.results((bytes) => bytes, lessIsBetter) };
}

export function startSeconds(settings: Settings): number {
  return settings.rounds * runsOfRound(settings) * START;
}

/** The time from the start of a process to its first answer. */
export async function compareStarts(bench: Bench): Promise<Measure> {
  const { settings, progress } = bench;
  const work = bench.cases.get('static') as Case;
  const pairs = new Pairs<number>();
  for (let round = 0; round < settings.rounds; round++) {
    await pairs.round(settings.peers, round, async (name) => {
      progress.step(`start: ${name}, round ${round + 1} of ${settings.rounds}`, START);
      const from = performance.now();
      const peer = await PeerProcess.start(name, work.name, undefined, { base: settings.base, pins: bench.pins });
      try {
        await peer.check(work.exchange());
        return performance.now() - from;
      } finally {
        await peer.stop();
      }
    });
  }
  return { name: 'start', title: 'start to first answer', unit: 'ms', peers: pairs.results((milliseconds) => milliseconds, lessIsBetter) };
}

function push<T>(lists: Map<string, T[]>, name: string, value: T): void {
  const list = lists.get(name);
  if (list === undefined) lists.set(name, [value]);
  else list.push(value);
}

export { START, startAll, stopAll, WARM_UP };
