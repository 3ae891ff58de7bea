/**
 * xJson beside JSON.stringify and its peers, in one run: `npm run bench:xjson`.
 * Every ratio is of two times taken in turn, the median of many in a process,
 * and then that of several processes.
 */
import { compareLarge, measureUncut } from './xjson/large';
import { compareResponses } from './xjson/responses';
import { compareSerializers } from './xjson/serializers';

async function main(): Promise<void> {
  await compareSerializers();
  await compareResponses();
  await compareLarge();
  measureUncut();
}

void main();
