import { type Bench, loadedRun, RUN_OVERHEAD, START, startAll, stopAll } from './comparison';
import type { Case } from './cases';
import type { PeerProcess } from './peer-process';
import type { Growth } from './results';
import { type Settings, SUBJECT } from './settings';
import { median } from './statistics';

/** One thing that grows. */
interface Axis {
  readonly name: string;
  readonly title: string;
  readonly unit: string;
  readonly work: string;
  readonly points: readonly number[];
  /** Whether the load grows rather than the program. */
  readonly connections?: boolean;
}

const KB = 1024;
const AXES: readonly Axis[] = [
  { name: 'routes', title: 'Routes', unit: 'routes', work: 'routes', points: [10, 100, 1000, 10_000] },
  { name: 'middleware', title: 'Middleware', unit: 'middleware', work: 'middleware', points: [0, 5, 20, 50] },
  { name: 'routers', title: 'Router levels', unit: 'router levels', work: 'routers', points: [0, 1, 3, 6] },
  { name: 'connections', title: 'Connections', unit: 'connections', work: 'static', points: [10, 100, 1000, 10_000], connections: true },
  { name: 'body', title: 'Body of a POST', unit: 'bytes', work: 'body', points: [0, KB, 100 * KB, KB * KB, 10 * KB * KB] },
];
/** Runs of each peer at each point. */
const ROUNDS = 3;
/** Most bytes of bodies that are on their way at once: with more, memory is what is measured. */
const MOST_AT_ONCE = 64 * KB * KB;

/** The load at one point: long enough for thousands of connections to be made, and for large bodies to be counted. */
function loadAt({ work, connections }: Axis, point: number, settings: Settings): { connections: number; seconds: number } {
  if (connections === true) return { connections: point, seconds: point >= 10_000 ? 5 : 1 };
  if (work !== 'body') return { connections: settings.connections, seconds: 1 };
  return { connections: Math.max(1, Math.min(settings.connections, Math.floor(MOST_AT_ONCE / Math.max(1, point)))), seconds: point >= KB * KB ? 3 : 1 };
}

function pointsOf({ points }: Axis, { quick }: Settings): readonly number[] {
  return quick ? [points[0] as number, points[points.length - 1] as number] : points;
}

export function growthSeconds(settings: Settings): number {
  const peers = settings.growthPeers.length + 1;
  let seconds = 0;
  for (const axis of AXES) {
    for (const point of pointsOf(axis, settings)) seconds += peers * (START + (loadAt(axis, point, settings).seconds + RUN_OVERHEAD) * (1 + ROUNDS));
  }
  return seconds;
}

/** What a request costs as routes, middleware, levels of routers, connections and bodies grow. */
export async function measureGrowth(bench: Bench): Promise<Growth[]> {
  const found: Growth[] = [];
  for (const axis of AXES) found.push(await measureAxis(bench, axis));
  return found;
}

async function measureAxis(bench: Bench, axis: Axis): Promise<Growth> {
  const names = [SUBJECT, ...bench.settings.growthPeers];
  const points = pointsOf(axis, bench.settings);
  const peers: Record<string, (number | null)[]> = Object.fromEntries(names.map((name) => [name, []]));
  for (const point of points) {
    const costs = await measurePoint(bench, axis, point, names);
    for (const name of names) peers[name]?.push(costs.get(name) ?? null);
  }
  const { name, title, unit } = axis;
  return { name, title, unit, points, rounds: ROUNDS, peers };
}

/** Processor time for one request at one point, by peer; without those that could not bear it. */
async function measurePoint(bench: Bench, axis: Axis, point: number, names: readonly string[]): Promise<Map<string, number>> {
  const { progress, load, settings } = bench;
  const work = bench.cases.get(axis.work) as Case;
  const grows = axis.connections === true;
  const label = `growth: ${point.toLocaleString('en')} ${axis.unit}`;
  progress.step(`${label}, start`, names.length * START);
  const peers = await startAll(bench, work, grows ? undefined : point, names);
  const { connections, seconds } = loadAt(axis, point, settings);
  const exchange = work.exchange(grows ? undefined : point);
  const costs = new Map<string, number[]>();
  try {
    for (let round = -1; round < ROUNDS; round++) {
      for (const [name, peer] of round % 2 === 0 ? peers : [...peers].reverse()) {
        progress.step(`${label}, ${name}`, seconds + RUN_OVERHEAD);
        const cost = await costOf(peer, () => load.send({ port: peer.port, exchange, connections, seconds }));
        // The first is the warm-up.
        if (round >= 0 && cost !== undefined) costs.set(name, [...(costs.get(name) ?? []), cost]);
      }
    }
  } finally {
    await stopAll(peers);
  }
  return new Map([...costs].map(([name, values]) => [name, median(values)]));
}

async function costOf(peer: PeerProcess, send: Parameters<typeof loadedRun>[1]): Promise<number | undefined> {
  try {
    const { cpu, requests, failures } = await loadedRun(peer, send);
    if (failures > requests / 100) throw new Error(`${failures} connections failed, ${requests} requests were answered`);
    return cpu;
  } catch (error) {
    // Ten thousand connections are more than some systems allow; the point is left out.
    process.stderr.write(`\n${peer.name}: ${(error as Error).message}\n`);
    return undefined;
  }
}
