/**
 * Memory, and what connections cost: `npm run bench:memory -- --help`. In turns
 * and in processes of their own, as `npm run bench` compares throughput.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type Case, type Exchange, loadCases } from './cases';
import { askEach, askOver, openMany, type WireRequest } from './connection';
import { wireText } from './exchange';
import { describeMachine, findPins, type Machine, pinSelf, type Pins } from './machine';
import { nodeOf, readMajors } from './nodes';
import { lessIsBetter, Pairs } from './pairs';
import { type Memory, PeerProcess } from './peer-process';
import { Progress } from './progress';
import { list, PEERS, SUBJECT, whole } from './settings';
import { median, type MedianInterval } from './statistics';

const PARTS = ['connect', 'idle', 'requests', 'mixed'] as const;
type Part = (typeof PARTS)[number];

/** What is asked for; all of it is served by the program `mixed` of peers/waypost.mjs too. */
const KINDS = ['static', 'routed', 'post', 'signed', 'bigint', 'large', 'notfound', 'file', 'events'] as const;
type Kind = (typeof KINDS)[number];
/** Peers that have a program for events. */
const WITH_EVENTS: readonly string[] = [SUBJECT, 'node'];

const USAGE = `npm run bench:memory -- [options]
  --peers a,b        of ${PEERS.join(', ')} (node)
  --parts a,b        of ${PARTS.join(', ')}
  --rounds n         rounds of connect and idle (9)
  --connections n    idle connections (10000)
  --requests n       requests of each kind up to the first look at the memory; the second comes after five times as many (20000)
  --minutes n        minutes of mixed load (10)
  --node a,b         majors of Node, one run each (that of this process)
  --out directory    where memory-NN.md goes (bench/results, or bench/results/partial where another option is given)
  --quick            small numbers of all: a smoke test`;

const OPTIONS = {
  peers: { type: 'string' },
  parts: { type: 'string' },
  rounds: { type: 'string' },
  connections: { type: 'string' },
  requests: { type: 'string' },
  minutes: { type: 'string' },
  node: { type: 'string' },
  out: { type: 'string' },
  quick: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

interface Settings {
  readonly peers: readonly string[];
  readonly parts: readonly Part[];
  readonly rounds: number;
  readonly connections: number;
  readonly requests: number;
  readonly minutes: number;
  /** Length of a minute, in seconds. */
  readonly minute: number;
  readonly quick: boolean;
  readonly out: string;
}

/** What all parts need. */
interface Bench {
  readonly settings: Settings;
  readonly machine: Machine;
  readonly pins: Pins;
  readonly cases: ReadonlyMap<string, Case>;
  readonly progress: Progress;
}

/** Requests at a time, each over a connection of its own. */
const AT_ONCE = 20;
/** Connections of the load that are kept. */
const KEPT = 50;
/** The same while 1 MB is asked for. */
const KEPT_FOR_LARGE = 4;
/** Slices of one run of `connect`, forward and backward in turn. */
const SLICES = 4;
/** Requests of another kind for each of 1 MB. */
const LARGE_SHARE = 50;
/** Of the mixed load, requests of every other kind for each of 1 MB. */
const OTHERS_FOR_LARGE = 20;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: OPTIONS });
  if (values.help === true) return console.log(USAGE);
  if (values.node !== undefined) return runOn(readMajors(values.node));
  const quick = values.quick === true;
  const { node: _node, out, ...others } = values;
  const settings: Settings = {
    peers: values.peers === undefined ? ['node'] : list('--peers', values.peers, PEERS),
    parts: list('--parts', values.parts, PARTS),
    rounds: whole('--rounds', values.rounds, quick ? 2 : 9),
    connections: whole('--connections', values.connections, quick ? 200 : 10_000),
    requests: whole('--requests', values.requests, quick ? 200 : 20_000),
    minutes: whole('--minutes', values.minutes, quick ? 2 : 10),
    minute: quick ? 2 : 60,
    quick,
    out: resolve(out ?? resolve(__dirname, Object.keys(others).length === 0 ? 'results' : 'results/partial')),
  };
  // Before this process has one core only.
  const [machine, pins] = [describeMachine(), findPins()];
  if (pins.load !== undefined) pinSelf(pins.load);
  const bench: Bench = { settings, machine, pins, cases: await loadCases(), progress: new Progress(estimate(settings)) };
  const sections: string[] = [];
  try {
    for await (const section of measureAll(bench)) {
      sections.push(section);
      // A run that is cut off leaves what it has measured by then.
      write(bench, sections);
    }
  } finally {
    bench.progress.end();
  }
  console.log(`${render(bench, sections)}\nWritten to ${settings.out}: ${fileName()}`);
}

/** One run by each Node, with the same options. */
function runOn(majors: readonly number[]): void {
  const given = process.argv.slice(2);
  const rest = given.filter((argument, i) => !argument.startsWith('--node') && given[i - 1] !== '--node');
  for (const major of majors) {
    const { status } = spawnSync(nodeOf(major), [...process.execArgv, __filename, ...rest], { stdio: 'inherit' });
    if (status !== 0) throw new Error(`the run by Node ${major} has failed`);
  }
}

async function* measureAll(bench: Bench): AsyncGenerator<string> {
  const { parts } = bench.settings;
  if (parts.includes('connect')) yield await compareConnections(bench);
  if (parts.includes('idle')) yield await compareIdle(bench);
  if (parts.includes('requests')) yield await followRequests(bench);
  if (parts.includes('mixed')) yield await followMixed(bench);
}

/** Seconds of the parts on a machine that answers some thousand requests a second. */
function secondsOf({ settings }: Pick<Bench, 'settings'>): Record<Part, number> {
  const { peers, rounds, connections, requests, minutes, minute } = settings;
  return {
    connect: rounds * (peers.length + 1) * (1 + (2 * ownConnections(settings)) / 2500),
    idle: rounds * (peers.length + 1) * (2 + connections / 2500),
    requests: KINDS.length * (peers.length + 1) * (2 + (5 * requests) / 8000),
    mixed: minutes * minute,
  };
}

function estimate(settings: Settings): number {
  const seconds = secondsOf({ settings });
  return settings.parts.reduce((all, part) => all + seconds[part], 0);
}

/** Requests of one run of `connect`. */
function ownConnections({ quick }: Settings): number {
  return quick ? 400 : 4000;
}

/** The request on the wire. @param fields Further header fields. */
function wire(port: number, exchange: Exchange, fields: Readonly<Record<string, string>> = {}): WireRequest {
  return { text: wireText(port, { ...exchange, headers: { ...exchange.headers, ...fields } }), status: exchange.status };
}

/** The request of that kind, made anew since signatures grow old. */
function exchangeOf({ cases }: Bench, kind: Kind): Exchange {
  if (kind !== 'events') return (cases.get(kind) as Case).exchange();
  return { method: 'GET', target: '/', headers: { accept: 'text/event-stream' }, status: 200 };
}

/** Starts a peer with that work. @param keepIdle Whether it keeps idle connections for ever. */
function start({ pins }: Bench, name: string, work: string, keepIdle = false): Promise<PeerProcess> {
  return PeerProcess.start(name, work, undefined, { base: undefined, without: undefined, deferred: false, semiSpace: undefined, keepIdle, pins });
}

/** Processor time of the server, in microseconds, for a request that has a connection of its own. */
async function compareConnections(bench: Bench): Promise<string> {
  const { settings, progress } = bench;
  const exchange = exchangeOf(bench, 'static');
  const pairs = new Pairs<number>();
  for (let round = 0; round < settings.rounds; round++) {
    await pairs.round(settings.peers, round, async (group) => {
      progress.step(`a connection for each request: ${group.join(', ')}, round ${round + 1} of ${settings.rounds}`, (secondsOf(bench).connect / settings.rounds) * (group.length / (settings.peers.length + 1)));
      return inTurns(bench, group, exchange);
    });
  }
  return `## A connection for each request

Processor time of the server for one request of \`static\`: connect, ask with \`Connection: close\`, read to the end; ${AT_ONCE} at a time, ${ownConnections(settings)} a run behind as many of warm-up.

${compared('µs a request', settings, pairs, (cpu) => cpu, (value) => value.toFixed(1))}`;
}

/** One run of each of the group, in slices forward and backward. */
async function inTurns(bench: Bench, group: readonly string[], exchange: Exchange): Promise<ReadonlyMap<string, number>> {
  const count = ownConnections(bench.settings);
  const peers: PeerProcess[] = [];
  const spent = new Map<string, number>();
  try {
    for (const name of group) {
      const peer = await start(bench, name, 'static');
      peers.push(peer);
      await peer.check(exchange);
      await askEach(peer.port, count, AT_ONCE, wire(peer.port, exchange, { connection: 'close' }));
    }
    for (let slice = 0; slice < SLICES; slice++) {
      for (const peer of slice % 2 === 0 ? peers : [...peers].reverse()) {
        const before = await peer.usage();
        await askEach(peer.port, count / SLICES, AT_ONCE, wire(peer.port, exchange, { connection: 'close' }));
        spent.set(peer.name, (spent.get(peer.name) ?? 0) + (await peer.usage()).cpu - before.cpu);
      }
    }
  } finally {
    for (const peer of peers) await peer.stop();
  }
  return new Map([...spent].map(([name, cpu]) => [name, cpu / count]));
}

/** Memory of a connection that has sent one request and is kept, in bytes. */
interface Idle {
  readonly rss: number;
  readonly heap: number;
}

async function compareIdle(bench: Bench): Promise<string> {
  const { settings, progress } = bench;
  const { connections, rounds } = settings;
  const pairs = new Pairs<Idle>();
  for (let round = 0; round < rounds; round++) {
    await pairs.round(settings.peers, round, async (group) => {
      const found = new Map<string, Idle>();
      for (const name of group) {
        progress.step(`idle connections: ${name}, round ${round + 1} of ${rounds}`, secondsOf(bench).idle / rounds / (settings.peers.length + 1));
        found.set(name, await measureIdle(bench, name));
      }
      return found;
    });
  }
  return `## An idle connection

Memory for each of ${connections.toLocaleString('en')} connections that have sent one request of \`static\` and are kept, above that before they came and behind as many requests over ${KEPT} connections; each time after full collections.

${compared('resident bytes', settings, pairs, ({ rss }) => rss, (value) => value.toFixed(0))}

${compared('bytes of the heap and beside it', settings, pairs, ({ heap }) => heap, (value) => value.toFixed(0))}`;
}

async function measureIdle(bench: Bench, name: string): Promise<Idle> {
  const { connections } = bench.settings;
  const exchange = exchangeOf(bench, 'static');
  const peer = await start(bench, name, 'static', true);
  try {
    const request = wire(peer.port, exchange);
    await askOver(peer.port, Math.min(KEPT, connections), (index) => (index < connections ? request : undefined));
    const before = await peer.collected();
    const open = await openMany(peer.port, connections, request);
    const after = await peer.collected();
    const kept = open.filter(({ isOpen }) => isOpen).length;
    for (const connection of open) connection.close();
    if (kept !== connections) throw new Error(`${name} has closed ${connections - kept} of ${connections} idle connections`);
    const each = (valueOf: (memory: Memory) => number): number => (valueOf(after) - valueOf(before)) / connections;
    return { rss: each(({ rss }) => rss), heap: each(({ heapUsed, external }) => heapUsed + external) };
  } finally {
    await peer.stop();
  }
}

/** Memory after more and more requests of one kind, each kind in a process of its own. */
async function followRequests(bench: Bench): Promise<string> {
  const { settings, progress } = bench;
  const rows: string[] = [];
  const perRun = secondsOf(bench).requests / KINDS.length / (settings.peers.length + 1);
  for (const kind of KINDS) {
    for (const name of [SUBJECT, ...settings.peers]) {
      if (kind === 'events' && !WITH_EVENTS.includes(name)) continue;
      progress.step(`memory after requests: ${kind}, ${name}`, perRun);
      rows.push(await followKind(bench, name, kind));
    }
  }
  const { requests } = settings;
  const [first, second] = [requests, 5 * requests].map((count) => count.toLocaleString('en'));
  return `## Memory after requests

MB after no, ${first} and ${second} requests over ${KEPT} connections (\`large\`: ${KEPT_FOR_LARGE} connections and a fiftieth as many requests), after full collections; and how many bytes of the heap each request between the two later looks has left. Until the first of those V8 compiles.

| kind | | resident | | | heap | | | bytes a request |
|---|---|--:|--:|--:|--:|--:|--:|--:|
${rows.join('\n')}`;
}

async function followKind(bench: Bench, name: string, kind: Kind): Promise<string> {
  const large = kind === 'large';
  const connections = large ? KEPT_FOR_LARGE : KEPT;
  const first = large ? Math.max(1, Math.round(bench.settings.requests / LARGE_SHARE)) : bench.settings.requests;
  const second = large ? 5 * first : 5 * bench.settings.requests;
  const peer = await start(bench, name, kind);
  try {
    if (kind !== 'events') await peer.check(exchangeOf(bench, kind));
    const looks = [await peer.collected()];
    for (const count of [first, second - first]) {
      const request = wire(peer.port, exchangeOf(bench, kind));
      await askOver(peer.port, connections, (index) => (index < count ? request : undefined));
      looks.push(await peer.collected());
    }
    const [, middle, end] = looks as [Memory, Memory, Memory];
    const left = (end.heapUsed - middle.heapUsed) / (second - first);
    return `| \`${kind}\` | ${name} | ${looks.map(({ rss }) => mb(rss)).join(' | ')} | ${looks.map(({ heapUsed }) => mb(heapUsed)).join(' | ')} | ${left.toFixed(1)} |`;
  } finally {
    await peer.stop();
  }
}

/** All kinds of work in turn on one process, minute by minute. */
async function followMixed(bench: Bench): Promise<string> {
  const { settings, progress } = bench;
  const peer = await start(bench, SUBJECT, 'mixed');
  const rows: string[] = [];
  const look = async (minute: number, requests: number): Promise<void> => {
    const { rss, heapUsed, external } = await peer.collected();
    rows.push(`| ${minute} | ${requests.toLocaleString('en')} | ${mb(rss)} | ${mb(heapUsed)} | ${mb(external)} |`);
    process.stderr.write(`\n${rows.at(-1)}\n`);
  };
  try {
    const { sign } = await import('./work.mjs');
    for (const { kind, exchange } of mixed(bench, sign)) if (kind !== 'events' && kind !== 'notfound') await peer.check(exchange);
    let answered = 0;
    await look(0, answered);
    for (let minute = 1; minute <= settings.minutes; minute++) {
      progress.step(`mixed load: minute ${minute} of ${settings.minutes}`, settings.minute);
      const requests = mixed(bench, sign).map(({ kind, exchange }) => ({ kind, request: wire(peer.port, exchange) }));
      const small = requests.filter(({ kind }) => kind !== 'large').map(({ request }) => request);
      const large = requests.find(({ kind }) => kind === 'large')?.request as WireRequest;
      const turn = OTHERS_FOR_LARGE * small.length + 1;
      const end = performance.now() + settings.minute * 1000;
      answered += await askOver(peer.port, KEPT, (index) => {
        if (performance.now() >= end) return undefined;
        return index % turn === turn - 1 ? large : small[(index % turn) % small.length];
      });
      await look(minute, answered);
    }
  } finally {
    await peer.stop();
  }
  return `## Mixed load

One process of waypost that serves all of these kinds, in turn over ${KEPT} connections, 1 MB once for ${OTHERS_FOR_LARGE} times each other; MB after full collections${settings.minute === 60 ? '' : `; a minute of this run has ${settings.minute} seconds`}.

| minute | requests | resident | heap | beside the heap |
|--:|--:|--:|--:|--:|
${rows.join('\n')}`;
}

/** Every kind as the program `mixed` has it: below its name. */
function mixed(bench: Bench, sign: (method: string, target: string, body: string) => Record<string, string>): readonly { readonly kind: Kind; readonly exchange: Exchange }[] {
  return KINDS.map((kind) => {
    const exchange = exchangeOf(bench, kind);
    const target = `/${kind}${exchange.target === '/' ? '' : exchange.target}`;
    const headers = kind === 'signed' ? { ...exchange.headers, ...sign(exchange.method, target, exchange.body as string) } : exchange.headers;
    return { kind, exchange: { ...exchange, target, headers } };
  });
}

/** A table of medians and of ratios. */
function compared<T>(unit: string, { rounds }: Settings, pairs: Pairs<T>, valueOf: (result: T) => number, show: (value: number) => string): string {
  const results = Object.entries(pairs.results(valueOf, lessIsBetter)).sort(([a], [b]) => Number(b === SUBJECT) - Number(a === SUBJECT));
  const rows = results.map(([name, { values, ratio }]) => `| ${name} | ${show(median(values))} | ${ratio === undefined ? '' : interval(ratio)} |`);
  return `| | ${unit} | times as much as waypost (${rounds} rounds) |
|---|--:|--:|
${rows.join('\n')}`;
}

function interval({ median: middle, low, high, coverage }: MedianInterval): string {
  return `${middle.toFixed(2)} (${low.toFixed(2)}–${high.toFixed(2)}, ${Math.round(coverage * 100)} %)`;
}

function mb(bytes: number): string {
  return (bytes / 1e6).toFixed(1);
}

function fileName(): string {
  return `memory-${process.versions.node.split('.')[0] ?? ''}.md`;
}

function render({ machine, pins }: Bench, sections: readonly string[]): string {
  const { date, system, processor, cores, memoryGiB, node, versions } = machine;
  return `# Memory and connections, Node ${node}

Printed by \`npm run bench:memory\` on ${date}: waypost ${versions['waypost'] ?? ''}, ${system}, ${processor}, ${cores} cores, ${memoryGiB} GiB, server and load ${pins.server === undefined ? 'not pinned' : 'on a core each'}. Full collections are those of V8's \`gc\`, four with 50 ms between, before memory is read. A ratio is the median of all rounds, in brackets the interval that holds it and how sure that is; above 1 waypost takes less.

${sections.join('\n\n')}
`;
}

function write(bench: Bench, sections: readonly string[]): void {
  const { out } = bench.settings;
  mkdirSync(out, { recursive: true });
  writeFileSync(resolve(out, fileName()), render(bench, sections));
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
