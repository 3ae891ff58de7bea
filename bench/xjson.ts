/**
 * xJson beside JSON.stringify and its peers, in one run: `npm run bench:xjson
 * [rounds]`. Every figure is the median of ratios of two times taken in turn.
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
