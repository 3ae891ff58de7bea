/** Where the processor time and the memory of a request go: `npm run bench -- --parts profile`. */
import { type Bench, startAll, START, stopAll } from './comparison';
import type { Case } from './cases';
import type { PeerProcess } from './peer-process';
import { type Settings, SUBJECT } from './settings';
import { warmUp, warmUpSeconds } from './warm-up';

/** Cases that are profiled unless others are asked for. */
export const PROFILED = ['static', 'routed', 'post', 'signed', 'notfound', 'middleware'] as const;
/** Functions of a peer's own that are listed. */
const LISTED = 12;

/** A function, as the inspector's protocol has it. */
interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  readonly lineNumber: number;
}

/** What `Profiler.stop` answers. */
export interface TimeProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** What `HeapProfiler.stopSampling` answers. */
export interface MemoryProfile {
  readonly head: MemoryNode;
}

interface MemoryNode {
  readonly selfSize: number;
  readonly children: readonly MemoryNode[];
}

/** What a request of one peer costs. */
export interface PeerProfile {
  readonly name: string;
  /** Time of a function itself for one request, in microseconds, by what the function belongs to. */
  readonly areas: ReadonlyMap<Area, number>;
  /** The same by function, of the peer's own and its packages', the longest first. */
  readonly own: readonly (readonly [name: string, time: number])[];
  /** Memory that is taken for one request, in bytes. */
  readonly bytes: number;
}

/** One case, profiled. */
export interface CaseProfile {
  readonly title: string;
  readonly peers: readonly PeerProfile[];
}

const AREAS = ['socket write', 'Node', 'builtins', 'framework', 'program', 'collector', 'engine and system'] as const;
type Area = (typeof AREAS)[number];

export function profileSeconds({ cases, peers, seconds }: Settings): number {
  return profiledCases(cases).length * (peers.length + 1) * (START + warmUpSeconds() + 2 * seconds);
}

/** Profiles each peer with each case, one process at a time. */
export async function measureProfiles(bench: Bench): Promise<CaseProfile[]> {
  const { settings, cases, progress } = bench;
  const profiles: CaseProfile[] = [];
  for (const name of profiledCases(settings.cases)) {
    const work = cases.get(name) as Case;
    const peers: PeerProfile[] = [];
    for (const peer of [SUBJECT, ...settings.peers]) {
      progress.step(`${work.title}: profile of ${peer}`, START + warmUpSeconds() + 2 * settings.seconds);
      const started = await startAll(bench, work, undefined, [peer], true);
      try {
        peers.push(await profileOf(bench, work, started.get(peer) as PeerProcess));
      } finally {
        await stopAll(started);
      }
    }
    profiles.push({ title: work.title, peers });
  }
  return profiles;
}

function profiledCases(cases: readonly string[]): readonly string[] {
  return PROFILED.filter((name) => cases.includes(name));
}

async function profileOf({ load, settings }: Bench, work: Case, peer: PeerProcess): Promise<PeerProfile> {
  const send = async (seconds: number): Promise<number> =>
    (await load.send({ port: peer.port, exchange: work.exchange(), connections: work.connections ?? settings.connections, seconds })).requests;
  const timed = (await warmUp(async (seconds) => ({ requests: await send(seconds) }))) + (await send(settings.seconds));
  const time = (await peer.ask('profiled')) as TimeProfile;
  await peer.ask('sample');
  const sampled = await send(settings.seconds);
  const memory = (await peer.ask('sampled')) as MemoryProfile;
  return { name: peer.name, ...timesOf(time, timed), bytes: sizeOf(memory.head) / sampled };
}

function timesOf({ nodes, samples, timeDeltas }: TimeProfile, requests: number): Pick<PeerProfile, 'areas' | 'own'> {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const areas = new Map<Area, number>(AREAS.map((area) => [area, 0]));
  const own = new Map<string, number>();
  for (const [index, id] of samples.entries()) {
    const frame = frames.get(id) as CallFrame;
    const area = areaOf(frame);
    if (area === undefined) continue;
    const time = (timeDeltas[index] ?? 0) / requests;
    areas.set(area, (areas.get(area) ?? 0) + time);
    if (area === 'framework') add(own, nameOf(frame), time);
  }
  return { areas, own: [...own].sort(([, a], [, b]) => b - a).slice(0, LISTED) };
}

function add(times: Map<string, number>, name: string, time: number): void {
  times.set(name, (times.get(name) ?? 0) + time);
}

/** Undefined for time in which nothing runs. */
function areaOf({ functionName, url }: CallFrame): Area | undefined {
  if (functionName === '(idle)' || functionName === '(root)') return undefined;
  if (functionName === '(garbage collector)') return 'collector';
  if (functionName === '(program)') return 'engine and system';
  if (url.startsWith('node:')) return 'Node';
  if (url === '') return /^write/.test(functionName) ? 'socket write' : 'builtins';
  return /\/bench\/(?:peers\/|work\.mjs|probe\.cjs)/.test(url) ? 'program' : 'framework';
}

function nameOf({ functionName, url, lineNumber }: CallFrame): string {
  const file = url.includes('/node_modules/') ? url.replace(/^.*\/node_modules\//, '') : url.replace(/^.*\/dist\//, 'waypost/');
  return `${functionName === '' ? '(anonymous)' : functionName} ${file}:${lineNumber + 1}`;
}

function sizeOf({ selfSize, children }: MemoryNode): number {
  return children.reduce((size, child) => size + sizeOf(child), selfSize);
}

/** As Markdown. */
export function renderProfiles(profiles: readonly CaseProfile[]): string {
  return profiles.map(renderCase).join('\n');
}

function renderCase({ title, peers }: CaseProfile): string {
  const head = `## ${title}\n\n| µs of a request | ${peers.map(({ name }) => name).join(' | ')} |\n|---|${peers.map(() => '--:|').join('')}\n`;
  const row = (label: string, valueOf: (peer: PeerProfile) => string): string => `| ${label} | ${peers.map(valueOf).join(' | ')} |\n`;
  const rows = AREAS.map((area) => row(area, ({ areas }) => (areas.get(area) ?? 0).toFixed(2)));
  const all = row('all', ({ areas }) => [...areas.values()].reduce((sum, time) => sum + time, 0).toFixed(1));
  const lists = peers.map(({ name, own }) => `\n${name}: ${own.map(([each, time]) => `\`${each}\` ${time.toFixed(2)}`).join(', ')}.\n`);
  return `${head}${rows.join('')}${all}${row('bytes taken', ({ bytes }) => Math.round(bytes).toLocaleString('en'))}${lists.join('')}`;
}
