import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { CASE_NAMES, type CaseName } from './cases';
import { readMajors } from './nodes';

/** Whom everything is compared with; the rest are its peers. */
export const SUBJECT = 'waypost';
/** The server that writes what waypost answers and looks at no request: what it takes no framework can save. */
export const BARE = 'bare';
/** All peers; each is a file in peers/. `base` is another checkout of waypost, given by `--base`. */
export const PEERS = ['node', 'fastify', 'express', 'hono', 'koa', 'polka', 'restana', 'h3'] as const;
/** Peers of which growth is drawn unless others are asked for: more lines could not be told apart. */
const GROWTH_PEERS = ['node', 'fastify', 'express'];

/** The parts of a run. */
const PARTS = ['cases', 'start', 'latency', 'growth', 'profile', 'together'] as const;
/** Parts for those who ask for them. */
const ASKED: readonly Part[] = ['profile', 'together'];
export type Part = (typeof PARTS)[number];

/** What rests on Node's insides for speed alone, and can be switched off. */
const FACTS = ['early-finish', 'header-fields', 'held-body', 'unread-request'] as const;

/** What was asked for on the command line. */
export interface Settings {
  readonly parts: readonly Part[];
  readonly cases: readonly CaseName[];
  readonly peers: readonly string[];
  readonly growthPeers: readonly string[];
  /** Rounds of every comparison. */
  readonly rounds: number;
  /** Measured load of one run, in whole seconds. */
  readonly seconds: number;
  /** Connections of the load. */
  readonly connections: number;
  /** Requests a second while latency is measured; undefined where that is worked out. */
  readonly rate: number | undefined;
  readonly load: 'wrk' | 'autocannon' | undefined;
  /** Root of the other checkout that the peer `base` is built from. */
  readonly base: string | undefined;
  /** A file of lib/http/node that the peer `base` goes without. */
  readonly without: string | undefined;
  /** Whether each request is handed on by setImmediate, in every peer. */
  readonly deferred: boolean;
  /** Least size of V8's semi-space in every peer, in MiB; undefined where V8 chooses it. */
  readonly semiSpace: number | undefined;
  /** Most peers that are up at once; undefined for two. */
  readonly beside: number | undefined;
  /** Seconds of load before that of a comparison; undefined for as many as the warm-up takes by itself. */
  readonly warmUp: number | undefined;
  /** Majors of Node that all is measured on, one after another; this process's own where none is named. */
  readonly nodes: readonly number[];
  readonly checkOnly: boolean;
  /** Whether growth is measured at its ends only. */
  readonly quick: boolean;
  /** Directory of the results. */
  readonly out: string;
}

const USAGE = `npm run bench -- [options]
  --cases a,b        of ${CASE_NAMES.join(', ')}
  --peers a,b        of ${PEERS.join(', ')}
  --parts a,b        of ${PARTS.join(', ')}
  --rounds n         rounds of every comparison (12; below 6 no interval covers 95 %)
  --seconds n        measured load of one run (2)
  --connections n    connections of the load (50)
  --rate n           requests a second of the part latency (60 % of what the slowest peer serves)
  --load tool        wrk or autocannon (wrk where it is installed)
  --node a,b         majors of Node, one run each (that of this process); results in a folder each
  --base directory   a further peer: another checkout of waypost, built
  --without name     the same without what a file of lib/http/node is for: ${FACTS.join(', ')}
  --deferred         hands each request on by setImmediate in every peer, as restana and waypost do by themselves
  --semi-space n     MiB of V8's semi-space in every peer, at least (V8 makes it larger as it goes)
  --warm-up n        seconds of load on each peer before its throughput is measured (80,000 requests, 8 seconds at most)
  --beside n         most peers that are up at once, beside waypost (2): more takes less time
  --out directory    where the results go (bench/results, or bench/results/partial where an option is given)
  --check            only checks that all peers answer alike
  --quick            two rounds of one second, growth at its ends: a smoke test`;

const OPTIONS = {
  cases: { type: 'string' },
  peers: { type: 'string' },
  parts: { type: 'string' },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  connections: { type: 'string' },
  rate: { type: 'string' },
  load: { type: 'string' },
  node: { type: 'string' },
  base: { type: 'string' },
  without: { type: 'string' },
  deferred: { type: 'boolean' },
  'semi-space': { type: 'string' },
  'warm-up': { type: 'string' },
  beside: { type: 'string' },
  out: { type: 'string' },
  check: { type: 'boolean' },
  quick: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/**
 * Reads the command line; undefined when only the usage was asked for, which it prints.
 * @throws TypeError that names the option that is unknown, or whose value is wrong.
 */
export function readSettings(args: readonly string[]): Settings | undefined {
  const values = valuesOf(args);
  if (values.help === true) {
    console.log(USAGE);
    return undefined;
  }
  const quick = values.quick === true;
  const narrowed = values.cases !== undefined || values.peers !== undefined;
  const peers = list('--peers', values.peers, PEERS);
  const without = values.without === undefined ? undefined : list('--without', values.without, FACTS)[0];
  const base = values.base === undefined && without === undefined ? undefined : baseOf(values.base ?? resolve(__dirname, '..'));
  const rounds = whole('--rounds', values.rounds, quick ? 2 : 12);
  const seconds = whole('--seconds', values.seconds, quick ? 1 : 2);
  const partial = quick || (['cases', 'peers', 'parts', 'rounds', 'seconds', 'connections', 'rate', 'load', 'base', 'without', 'deferred', 'semi-space', 'warm-up', 'beside'] as const).some((name) => values[name] !== undefined);
  return {
    parts: partsOf(values.parts, narrowed),
    cases: list('--cases', values.cases, CASE_NAMES),
    peers: base === undefined ? peers : ['base', ...(values.peers === undefined ? [] : peers)],
    growthPeers: base === undefined && values.peers === undefined ? GROWTH_PEERS : base === undefined ? peers : ['base'],
    rounds,
    seconds,
    connections: whole('--connections', values.connections, 50),
    rate: values.rate === undefined ? undefined : whole('--rate', values.rate, 0),
    load: values.load === undefined ? undefined : list('--load', values.load, ['wrk', 'autocannon'])[0],
    deferred: values.deferred === true,
    semiSpace: values['semi-space'] === undefined ? undefined : whole('--semi-space', values['semi-space'], 0),
    warmUp: values['warm-up'] === undefined ? undefined : whole('--warm-up', values['warm-up'], 0),
    beside: values.beside === undefined ? undefined : whole('--beside', values.beside, 0),
    nodes: values.node === undefined ? [] : readMajors(values.node),
    base,
    without,
    checkOnly: values.check === true,
    quick,
    out: resolve(values.out ?? resolve(__dirname, partial ? 'results/partial' : 'results')),
  };
}

/** A run that is narrowed to cases or peers means those. */
function partsOf(given: string | undefined, narrowed: boolean): readonly Part[] {
  if (given !== undefined) return list('--parts', given, PARTS);
  return narrowed ? ['cases'] : PARTS.filter((part) => !ASKED.includes(part));
}

function valuesOf(args: readonly string[]): ReturnType<typeof parse>['values'] {
  try {
    return parse(args).values;
  } catch (error) {
    // Its first sentence says what is wrong, the others what a program might have meant by it.
    const [reason] = (error as Error).message.split(/\.\s/, 1);
    throw new TypeError(`${reason}; the options are those of npm run bench -- --help`, { cause: error });
  }
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS });
}

/** Names of a list that are known. @throws TypeError that names the option. */
export function list<T extends string>(option: string, given: string | undefined, known: readonly T[]): readonly T[] {
  if (given === undefined) return known;
  const names = given.split(',').filter((name) => name !== '');
  for (const name of names) {
    if (!known.includes(name as T)) throw new TypeError(`${option} must be of ${known.join(', ')}, got ${JSON.stringify(name)}`);
  }
  if (names.length === 0) throw new TypeError(`${option} must name at least one of ${known.join(', ')}, got nothing`);
  return [...new Set(names as T[])];
}

/** A whole number above 0. @throws TypeError that names the option. */
export function whole(option: string, given: string | undefined, fallback: number): number {
  if (given === undefined) return fallback;
  const number = Number(given);
  if (!Number.isInteger(number) || number < 1) throw new TypeError(`${option} must be a whole number above 0, got ${JSON.stringify(given)}`);
  return number;
}

function baseOf(given: string): string {
  const root = resolve(given);
  if (!existsSync(resolve(root, 'dist/index.js'))) throw new TypeError(`--base must be a checkout of waypost with dist/ (npm run build), got ${JSON.stringify(given)}`);
  return root;
}
