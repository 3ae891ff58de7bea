import type { Case } from './cases';
import { type Bench, loadedRun, runsOfRound, START, startAll, stopAll } from './comparison';
import { lessIsBetter, Pairs } from './pairs';
import type { PeerProcess } from './peer-process';
import type { Measure } from './results';
import { BARE, type Settings, SUBJECT } from './settings';
import { besideSlowClients } from './slow-clients';
import { orderOfRound } from './statistics';
import { warmUp, warmUpSeconds } from './warm-up';

/** Processor time of a peer for one request, and what of it is above the bare server's, in microseconds. */
interface Cost {
  readonly all: number;
  readonly above: number;
}

export function togetherSeconds(settings: Settings): number {
  // The bare server runs in each group.
  const runs = runsOfRound(settings) + orderOfRound(SUBJECT, settings.peers, 0).length;
  return settings.cases.length * settings.rounds * runs * runSeconds(settings);
}

function runSeconds({ seconds, warmUp: given }: Settings): number {
  return START + warmUpSeconds(given) + seconds;
}

/**
 * What a request costs in processor time, with those that are compared under load at the same time, on one core. The system
 * hands the core from one to the next every few milliseconds, so what slows the machine down slows all of them.
 */
export async function compareTogether(bench: Bench, work: Case): Promise<Measure[]> {
  const { settings, progress } = bench;
  const pairs = new Pairs<Cost>();
  for (let round = 0; round < settings.rounds; round++) {
    await pairs.round(settings.peers, round, (group) => {
      progress.step(`${work.title}, together: ${group.join(', ')}, round ${round + 1} of ${settings.rounds}`, (group.length + 1) * runSeconds(settings));
      return runGroup(bench, work, group);
    });
  }
  const title = `${work.title}, together`;
  return [
    { name: `${work.name}-together`, title, unit: 'µs', peers: pairs.results(({ all }) => all, lessIsBetter) },
    { name: `${work.name}-together-above`, title, unit: 'µs above bare', peers: pairs.results(({ above }) => above, lessIsBetter) },
  ];
}

async function runGroup(bench: Bench, work: Case, group: readonly string[]): Promise<ReadonlyMap<string, Cost>> {
  const { settings, load, pins } = bench;
  const exchange = work.exchange();
  const connections = work.connections ?? settings.connections;
  const peers = await startAll(bench, work, undefined, group);
  try {
    peers.set(BARE, await (peers.get(SUBJECT) as PeerProcess).bare(exchange, settings, pins));
    const send = ({ port }: PeerProcess, seconds: number) => load.send({ port, exchange, connections, seconds });
    // Each is given as much time as if it had the core alone.
    const shared = (seconds: number) => seconds * peers.size;
    const { warmUp: given } = settings;
    if (given === undefined) for (const peer of peers.values()) await warmUp((seconds) => send(peer, seconds));
    else await Promise.all([...peers.values()].map((peer) => send(peer, shared(given))));
    const seconds = shared(settings.seconds);
    const runs = await Promise.all([...peers].map(async ([name, peer]) => {
      const run = await besideSlowClients(peer.port, work, pins.load, () => loadedRun(peer, () => send(peer, seconds)));
      return [name, run.cpu] as const;
    }));
    const costs = new Map(runs);
    const bare = costs.get(BARE) as number;
    return new Map(group.map((name) => [name, { all: costs.get(name) as number, above: (costs.get(name) as number) - bare }]));
  } finally {
    await stopAll(peers);
  }
}
