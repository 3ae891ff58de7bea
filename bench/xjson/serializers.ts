import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { stringifyChunked } from '@discoveryjs/json-ext';
import * as jsonBigInt from 'json-bigint';
import { JsonStreamStringify } from 'json-stream-stringify';
import { configure } from 'safe-stable-stringify';
import { Chunks } from '../../lib/http/chunks';
import { Serializer, stringify } from '../../lib/xjson/serializer';
import { rows } from './data';
import { line, PROCESSES, ratio, ROUNDS } from './figures';

/** The goals are those of Node 24 and 26: without BigInts, with one in every row, and with one in the last row. */
const SIZES = [
  { size: 100, times: 3000, goals: [1.35, 1.9, 1.9] },
  { size: 1000, times: 300, goals: [1.2, 1.7, 1.7] },
  { size: 10_000, times: 40, goals: [1.3, 1.8, 1.8] },
  { size: 107_000, times: 10, goals: [1.15, 1.6, 1.6] },
  { size: 1_000_000, times: 3, goals: [] },
] as const;

const replacer = (_key: string, value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value);
const stable = configure({ bigint: 'string', deterministic: false, circularValue: '[Circular]' } as never);

const PEERS: readonly [string, (data: unknown) => unknown][] = [
  ['JSON.stringify, then a replacer if it throws', tryThenReplace],
  ['JSON.stringify with a replacer', (data) => JSON.stringify(data, replacer)],
  ['safe-stable-stringify', (data) => stable(data)],
  ['json-bigint', (data) => jsonBigInt.stringify(data)],
  ['@discoveryjs/json-ext, stringifyChunked', (data) => [...stringifyChunked(data, replacer)].join('')],
  ['json-stream-stringify', (data) => streamed(new JsonStreamStringify(data, replacer))],
];

function tryThenReplace(data: unknown): string {
  try {
    return JSON.stringify(data);
  } catch {
    return JSON.stringify(data, replacer);
  }
}

async function streamed(source: Readable): Promise<string> {
  let text = '';
  for await (const part of source as AsyncIterable<string>) text += part;
  return text;
}

/** How many bytes a response has, once they are made. */
export function bytesOf(data: unknown): number {
  const out = new Chunks(true);
  const serializer = new Serializer(data, {}, out);
  serializer.run(Infinity);
  return serializer.text === null ? out.length : Buffer.from(serializer.text).length;
}

/** A ratio, and what it should not exceed. */
interface Figure {
  readonly name: string;
  readonly ratio: number;
  readonly goal: number | undefined;
}

const KINDS = ['', ', a BigInt in every row', ', a BigInt in the last row'];

/** The serializer alone, against JSON.stringify of the same rows without BigInts, and its peers in the same processes. */
export async function compareSerializers(): Promise<void> {
  for (const { size } of SIZES) {
    const processes: Figure[][] = [];
    for (let i = 0; i < PROCESSES; i++) processes.push(await measureApart(size));
    console.log(`\n${size.toLocaleString('en')} bytes of rows: time against JSON.stringify of the same with strings for the BigInts; of the response's bytes, against Buffer.from of that`);
    for (const [i, { name, goal }] of (processes[0] as Figure[]).entries()) line(name, processes.map((figures) => (figures[i] as Figure).ratio), goal);
  }
}

async function measureApart(size: number): Promise<Figure[]> {
  const child = fork(__filename, [String(size)]);
  const [[figures]] = (await Promise.all([once(child, 'message'), once(child, 'exit')])) as [[Figure[]], unknown];
  return figures;
}

async function measure({ size, times, goals }: (typeof SIZES)[number]): Promise<Figure[]> {
  const data = [rows(size, 'none'), rows(size, 'all'), rows(size, 'last')];
  const plain = data[0];
  const figures: Figure[] = [];
  const compare = async (name: string, work: (data: unknown) => unknown, native: () => unknown, aims: readonly (number | undefined)[], repeats: number, rounds: number): Promise<void> => {
    for (const [i, kind] of KINDS.entries()) figures.push({ name: name + kind, ratio: await ratio(() => work(data[i]), native, repeats, rounds), goal: aims[i] });
  };
  const native = (): string => JSON.stringify(plain);
  await compare('stringify', stringify, native, goals, times, ROUNDS);
  await compare('bytes of a response', bytesOf, () => Buffer.from(JSON.stringify(plain)), [], times, ROUNDS);
  for (const [name, peer] of PEERS) await compare(name, peer, native, [], name === 'json-stream-stringify' ? Math.ceil(times / 10) : times, 3);
  // The last, since it goes for all that is written from then on.
  Object.assign(BigInt.prototype, { toJSON(this: bigint) { return this.toString(); } });
  await compare('JSON.stringify with BigInt.prototype.toJSON', (given) => JSON.stringify(given), native, [], times, 3);
  return figures;
}

const asked = SIZES.find(({ size }) => size === Number(process.argv[2]));
if (process.send !== undefined && asked !== undefined) {
  void measure(asked).then((figures) => process.send?.(figures, () => process.disconnect()));
}
