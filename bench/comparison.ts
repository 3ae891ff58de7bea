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

/** Time beyond the load itself that one run under load takes, in seconds. */
export const RUN_OVERHEAD = 0.15;
/** A start with a check, in seconds. */
export const START = 0.5;
/** Load before what is measured, in seconds: most of what is compiled is compiled by then. */
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
export async function startAll(bench: Bench, work: Case, size?: number, names: readonly string[] = [SUBJECT, ...bench.settings.peers]): Promise<Map<string, PeerProcess>> {
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

export async function stopAll(peers: ReadonlyMap<string, PeerProcess>): Promise<void> {
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
  return settings.rounds * runsOfRound(settings) * runSeconds(settings);
}

function runSeconds({ seconds }: Settings): number {
  return START + WARM_UP + seconds + 2 * RUN_OVERHEAD;
}

/** One case. */
export async function compareCase(bench: Bench, work: Case): Promise<Measure[]> {
  const { settings, progress } = bench;
  const pairs = new Pairs<CaseRun>();
  for (let round = 0; round < settings.rounds; round++) {
    await pairs.round(settings.peers, round, (name) => {
      progress.step(`${work.title}: ${name}, round ${round + 1} of ${settings.rounds}`, runSeconds(settings));
      return runCase(bench, work, name);
    });
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

interface CaseRun extends LoadedRun {
  /** Resident memory before any load and after all of it, in bytes. */
  readonly idle: number;
  readonly loaded: number;
}

/**
 * One run, in a process of its own from its start to its end. V8 decides anew
 * in each what it compiles and how, so runs of one process are no independent
 * samples; and so each has the same behind it, wherever it stands in a round.
 */
async function runCase({ settings, pins, load }: Bench, work: Case, name: string): Promise<CaseRun> {
  const peer = await PeerProcess.start(name, work.name, undefined, { base: settings.base, pins });
  try {
    const exchange = work.exchange();
    await peer.check(exchange);
    const run = { port: peer.port, exchange, connections: work.connections ?? settings.connections };
    const { rss: idle } = await peer.usage();
    await load.send({ ...run, seconds: WARM_UP });
    const result = await loadedRun(peer, () => load.send({ ...run, seconds: settings.seconds }));
    const { rss: loaded } = await peer.usage();
    return { ...result, idle, loaded };
  } finally {
    await peer.stop();
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
