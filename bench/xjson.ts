/**
 * xJson beside JSON.stringify and its peers, in one run:
 * `npm run bench:xjson -- --node 20,24,26`. Every ratio is of two times taken in
 * turn, the median of many in a process, and then that of several processes.
 * Last come whole requests beside the frameworks, as `npm run bench` compares them.
 */
import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { nodeOf, readMajors } from './nodes';
import { compareLarge, measureUncut } from './xjson/large';
import { compareResponses } from './xjson/responses';
import { compareSerializers } from './xjson/serializers';

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { node: { type: 'string' } } });
  if (values.node === undefined) return measure();
  for (const major of readMajors(values.node)) {
    const { status } = spawnSync(nodeOf(major), [...process.execArgv, __filename], { stdio: 'inherit' });
    if (status !== 0) throw new Error(`the run by Node ${major} has failed`);
  }
}

async function measure(): Promise<void> {
  console.log(`\n== Node ${process.versions.node} ==`);
  await compareSerializers();
  await compareResponses();
  await compareLarge();
  measureUncut();
  compareOverHttp();
}

/** 10 KB with a BigInt in each row, over a socket. */
function compareOverHttp(): void {
  const given = ['--cases', 'bigint', '--peers', 'fastify,express,hono,koa', '--rounds', '6'];
  const { status } = spawnSync(process.execPath, [...process.execArgv, resolve(__dirname, 'run.ts'), ...given], { stdio: 'inherit' });
  if (status !== 0) throw new Error('the comparison over HTTP has failed');
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
