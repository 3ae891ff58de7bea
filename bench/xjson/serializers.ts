import { Readable } from 'node:stream';
import { stringifyChunked } from '@discoveryjs/json-ext';
import * as jsonBigInt from 'json-bigint';
import { JsonStreamStringify } from 'json-stream-stringify';
import { configure } from 'safe-stable-stringify';
import { Blocks } from '../../lib/xjson/blocks';
import { Serializer } from '../../lib/xjson/serializer';
import { stringify } from '../../lib/xjson/stringify';
import { rows } from './data';
import { line, ratio, ROUNDS } from './figures';

/** Goals by the size of the rows, in bytes: without BigInts, with one in every row, and with one in the last row. */
const SIZES = [
  { size: 1000, times: 300, goals: [1.2, 1.8, 2.7] },
  { size: 10_000, times: 40, goals: [1.2, 1.6, 2.7] },
  { size: 1_000_000, times: 3, goals: [1.05, 1.6, 2.7] },
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

/** The bytes of a response, as the serializer makes them. */
export function bytesOf(data: unknown): number {
  const out = new Blocks(true);
  new Serializer(data, {}, out).run(Infinity);
  const { length } = out;
  if (length <= 65_536) out.whole();
  return length;
}

/** The serializer alone, against JSON.stringify of the same rows without BigInts, and its peers in the same run. */
export async function compareSerializers(): Promise<void> {
  for (const { size, times, goals } of SIZES) {
    const data = [rows(size, 'none'), rows(size, 'all'), rows(size, 'last')];
    const plain = data[0];
    const native = (): string => JSON.stringify(plain);
    const compare = async (name: string, work: (data: unknown) => unknown, aims: readonly number[], rounds = ROUNDS, slower = 1): Promise<void> => {
      const kinds = ['', ', a BigInt in every row', ', a BigInt in the last row'];
      for (const [i, kind] of kinds.entries()) line(name + kind, await ratio(() => work(data[i]), native, Math.ceil(times / slower), rounds), aims[i]);
    };
    console.log(`\n${size.toLocaleString('en')} bytes of rows: time against JSON.stringify of the same with strings for the BigInts`);
    await compare('stringify', stringify, goals);
    for (const [name, peer] of PEERS) await compare(name, peer, [], 9, name === 'json-stream-stringify' ? 10 : 1);
    console.log('  the bytes of a response: time against Buffer.from(JSON.stringify(x))');
    const kinds = ['response bytes', 'response bytes, a BigInt in every row', 'response bytes, a BigInt in the last row'];
    for (const [i, kind] of kinds.entries()) line(kind, await ratio(() => bytesOf(data[i]), () => Buffer.from(JSON.stringify(plain)), times), i === 0 ? undefined : goals[i]);
  }
}
