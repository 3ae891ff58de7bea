/** Compares waypost with its peers: `npm run bench -- --help`. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Case, loadCases } from './cases';
import { renderGrowthChart, renderRatioChart } from './chart';
import { type Bench, caseSeconds, checkAll, checkSeconds, compareCase } from './comparison';
import { compareLatencies, latencySeconds } from './latency';
import { growthSeconds, measureGrowth } from './growth';
import { Load } from './load';
import { describeMachine, findPins } from './machine';
import { nodeOf } from './nodes';
import { measureProfiles, profileSeconds, renderProfiles } from './profile';
import { Progress } from './progress';
import type { Growth, Measure, Results } from './results';
import { readSettings, type Settings } from './settings';
import { compareStarts, startSeconds } from './start';
import { isCost, renderTable } from './table';
import { compareTogether, togetherSeconds } from './together';

async function main(): Promise<void> {
  const settings = readSettings(process.argv.slice(2));
  if (settings === undefined) return;
  if (settings.nodes.length > 0) return runOn(settings);
  const pins = findPins();
  if (pins.server === undefined) process.stderr.write('Nothing is pinned to a core (one core, or no taskset): the figures will spread.\n');
  const load = Load.find(settings.load, pins.load);
  // Peers end with this process; what else is left are the files of the load.
  process.once('exit', () => load.close());
  for (const [signal, code] of [['SIGINT', 130], ['SIGTERM', 143]] as const) process.once(signal, () => process.exit(code));
  const bench: Bench = { settings, pins, load, cases: await loadCases(), progress: new Progress(estimate(settings)) };
  try {
    await checkAll(bench);
    if (settings.checkOnly) return;
    if (settings.parts.includes('profile')) writeProfiles(settings, renderProfiles(await measureProfiles(bench)));
    if (settings.parts.every((part) => part === 'profile')) return;
    const run = {
      machine: describeMachine(),
      load: { tool: load.name, connections: settings.connections, seconds: settings.seconds, rounds: settings.rounds, pinned: pins.server !== undefined, deferred: settings.deferred, semiSpace: settings.semiSpace, warmUp: settings.warmUp },
    };
    let written: readonly string[] = [];
    let results: Results = { ...run, measures: [], growth: [] };
    for await (const measured of measureAll(bench)) {
      results = { ...run, ...measured };
      // A run that is cut off leaves what it has measured by then.
      written = write(settings, results);
    }
    console.log(`${renderTable(results)}\n\nWritten to ${settings.out}: ${written.join(', ')}`);
  } finally {
    bench.progress.end();
  }
}

/** One run by each Node, with the same options; the results in a folder each. */
function runOn({ nodes, out }: Settings): void {
  const given = process.argv.slice(2);
  const rest = given.filter((argument, i) => !argument.startsWith('--node') && given[i - 1] !== '--node');
  for (const major of nodes) {
    const { status } = spawnSync(nodeOf(major), [...process.execArgv, __filename, ...rest, '--out', resolve(out, `node-${major}`)], { stdio: 'inherit' });
    if (status !== 0) throw new Error(`the run by Node ${major} has failed`);
  }
}

function estimate(settings: Settings): number {
  const { parts, cases, checkOnly } = settings;
  let seconds = checkSeconds(settings);
  if (checkOnly) return seconds;
  if (parts.includes('cases')) seconds += cases.length * caseSeconds(settings);
  if (parts.includes('start')) seconds += startSeconds(settings);
  if (parts.includes('latency')) seconds += latencySeconds(settings);
  if (parts.includes('growth')) seconds += growthSeconds(settings);
  if (parts.includes('profile')) seconds += profileSeconds(settings);
  if (parts.includes('together')) seconds += togetherSeconds(settings);
  return seconds;
}

/** All that has been measured, anew whenever a part more has been. */
async function* measureAll(bench: Bench): AsyncGenerator<{ measures: Measure[]; growth: Growth[] }> {
  const { parts, cases } = bench.settings;
  const measures: Measure[] = [];
  const measured = (added: readonly Measure[], growth: Growth[] = []): { measures: Measure[]; growth: Growth[] } => {
    measures.push(...added);
    // What is measured in requests stands above start and memory.
    measures.sort((a, b) => Number(b.unit === 'requests/s') - Number(a.unit === 'requests/s'));
    return { measures, growth };
  };
  if (parts.includes('cases')) {
    for (const name of cases) yield measured(await compareCase(bench, bench.cases.get(name) as Case));
  }
  if (parts.includes('together')) {
    for (const name of cases) yield measured(await compareTogether(bench, bench.cases.get(name) as Case));
  }
  if (parts.includes('start')) yield measured(await compareStarts(bench));
  if (parts.includes('latency')) yield measured(await compareLatencies(bench));
  if (parts.includes('growth')) yield measured([], await measureGrowth(bench));
}

function writeProfiles({ out }: Settings, text: string): void {
  mkdirSync(out, { recursive: true });
  writeFileSync(resolve(out, 'profile.md'), text);
  console.log(`${text}\nWritten to ${out}: profile.md`);
}

/** Returns the names of the files. */
function write({ out }: Settings, results: Results): readonly string[] {
  mkdirSync(out, { recursive: true });
  const files: [string, string][] = [['results.json', `${JSON.stringify(results, null, 1)}\n`], ['results.md', `${renderTable(results)}\n`]];
  if (!results.measures.every(isCost)) files.push(['ratios.svg', renderRatioChart(results)]);
  if (results.growth.length > 0) files.push(['growth.svg', renderGrowthChart(results)]);
  for (const [name, text] of files) writeFileSync(resolve(out, name), text);
  return files.map(([name]) => name);
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
