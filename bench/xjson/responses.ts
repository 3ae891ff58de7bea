import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { ask } from './client';
import { line, pairedRatio, PROCESSES } from './figures';
import type { Responder } from './responder';

const GOALS = [1.05, 1.25, 1.25] as const;
/** How many requests a figure is taken from, and how many come first: what V8 compiles meanwhile is processor time too. */
const SIZES = [
  { size: 100, first: 5000, requests: 1500, goals: [] },
  { size: 1000, first: 5000, requests: 1000, goals: GOALS },
  { size: 10_000, first: 3000, requests: 1000, goals: GOALS },
  { size: 1_000_000, first: 60, requests: 15, goals: GOALS },
] as const;
const KINDS = [['none', ''], ['all', ', a BigInt in every row'], ['last', ', a BigInt in the last row']] as const;
const CONNECTIONS = 8;

/**
 * Whole responses, from the request to the last byte: processor time of a
 * server in a process of its own, so that the client's work is no part of it.
 */
export async function compareResponses(): Promise<void> {
  const taken = SIZES.map(() => KINDS.map((): number[] => []));
  for (let i = 0; i < PROCESSES; i++) await measureServer(taken);
  console.log('\nwhole responses: processor time of the server against res.end(JSON.stringify(x)) of the same rows without BigInts');
  for (const [i, { size, goals }] of SIZES.entries()) {
    for (const [j, [, name]] of KINDS.entries()) line(`${size.toLocaleString('en')} bytes${name}`, taken[i]?.[j] as number[], goals[j]);
  }
}

/** Adds the ratios of one server process, by size and kind. */
async function measureServer(taken: readonly (readonly number[][])[]): Promise<void> {
  const server = fork(join(__dirname, 'responder.ts'));
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const told = async (): Promise<Responder> => {
    server.send('usage');
    return ((await once(server, 'message')) as [Responder])[0];
  };
  const { port } = await told();
  const load = async (path: string, requests: number): Promise<number> => {
    const before = await told();
    let left = requests;
    await Promise.all(Array.from({ length: CONNECTIONS }, async () => {
      while (left-- > 0) await ask(port, path, agent);
    }));
    return (await told()).cpu - before.cpu;
  };
  for (const [i, { size, first, requests }] of SIZES.entries()) {
    const native = `/native/none/${size}`;
    for (const [j, [kind]] of KINDS.entries()) {
      const path = `/xjson/${kind}/${size}`;
      for (const warm of [path, native]) await load(warm, first);
      taken[i]?.[j]?.push(await pairedRatio(() => load(path, requests), () => load(native, requests)));
    }
  }
  agent.destroy();
  server.disconnect();
  await once(server, 'exit');
}
