import type { Growth, Measure, PeerResult, Results } from './results';
import { SUBJECT } from './settings';
import { geometricMean, median } from './statistics';

/** The results as Markdown: the table of ratios, the same of processor time and of latency, and a table for each thing that grows. */
export function renderTable(results: Results): string {
  const { machine, load, measures } = results;
  const versions = Object.entries(machine.versions).map(([name, version]) => `${name} ${version}`).join(', ');
  const lines = [
    `${machine.date}, Node ${machine.node}, ${machine.system}, ${machine.processor}, ${machine.cores} cores, ${machine.memoryGiB} GiB.`,
    `${versions}.`,
    `Load: ${load.tool}, ${load.connections} connections, ${load.rounds} rounds of ${load.seconds} s, ${load.pinned ? 'server and load pinned to a core each' : 'nothing pinned'}${load.deferred ? ', requests handed on by setImmediate' : ''}${load.semiSpace === undefined ? '' : `, semi-spaces of ${load.semiSpace} MiB`}${load.warmUp === undefined ? '' : `, behind ${load.warmUp} s of load`}.`,
    '',
  ];
  const latencies = measures.filter(({ unit }) => unit === 'ms of latency');
  const tables: (readonly [string, readonly Measure[]])[] = [
    ['', measures.filter((measure) => !isCost(measure) && !latencies.includes(measure))],
    ['processor time a request', measures.filter(({ unit }) => unit === 'µs')],
    ['processor time a request above a bare server\'s', measures.filter(({ unit }) => unit === 'µs above bare')],
    [`at ${(latencies[0]?.rate ?? 0).toLocaleString('en')} requests/s`, latencies],
  ];
  for (const [heading, rows] of tables) if (rows.length > 0) lines.push(...ratioTable(heading, rows), '');
  if (measures.length > 0) lines.push(...notes(measures));
  for (const growth of results.growth) lines.push('', ...growthTable(growth));
  return lines.join('\n');
}

/** Whether it is shown in a table of its own kind, below that of requests, start and memory. */
export function isCost({ unit }: Measure): boolean {
  return unit === 'µs' || unit === 'µs above bare';
}

function ratioTable(heading: string, measures: readonly Measure[]): string[] {
  const peers = Object.keys((measures[0] as Measure).peers).filter((name) => name !== SUBJECT);
  const rows = [[heading, `${SUBJECT} = 1.00`, ...peers], ['---', '--:', ...peers.map(() => '--:')]];
  for (const measure of measures) {
    const subject = measure.peers[SUBJECT] as PeerResult;
    rows.push([measure.title, `${absolute(measure, median(subject.values))}${mark(subject)}`, ...peers.map((name) => cell(measure.peers[name]))]);
  }
  const loads = measures.filter(({ unit }) => unit === 'requests/s' || unit === 'µs');
  if (loads.length > 1) {
    rows.push(['all of the load, geometric mean', '', ...peers.map((name) => geometricMean(loads.map((measure) => measure.peers[name]?.ratio?.median ?? NaN)).toFixed(2))]);
  }
  return rows.map((row) => `| ${row.join(' | ')} |`);
}

function cell(result: PeerResult | undefined): string {
  if (result?.ratio === undefined) return '';
  const { median: middle, low, high } = result.ratio;
  return `${middle.toFixed(2)}${result.ratios.length === 1 ? '' : ` (${low.toFixed(2)}–${high.toFixed(2)})`}${mark(result)}`;
}

function mark({ failures = 0 }: PeerResult): string {
  return failures > 0 ? ' †' : '';
}

function absolute(measure: Measure, value: number): string {
  if (measure.unit === 'bytes') return `${(value / 2 ** 20).toFixed(0)} MiB`;
  if (measure.unit === 'ms of latency') return `${value.toPrecision(3)} ms`;
  if (measure.unit === 'µs above bare') return `${value.toFixed(1)} µs`;
  return `${value.toLocaleString('en', { maximumFractionDigits: 0 })} ${measure.unit === 'requests/s' ? '/s' : measure.unit}`;
}

function notes(measures: readonly Measure[]): string[] {
  const results = measures.flatMap((measure) => Object.values(measure.peers));
  const ratio = results.find((result) => result.ratios.length > 1)?.ratio;
  const lines = [`Each number says how many times as well as the peer ${SUBJECT} does: above 1 it serves more requests, or takes less time or memory.`];
  if (ratio !== undefined) lines.push(`It is the median of the ratios of neighbouring runs, with the interval that holds it in ${(ratio.coverage * 100).toFixed(0)} of 100 cases.`);
  const late = measures.flatMap((measure) => measure.late ?? []);
  if (late.length > 0) lines.push(`Latency counts from when a request was due; of a hundred, the load itself came to one more than ${Math.max(...late).toPrecision(2)} ms late.`);
  if (results.some((result) => (result.failures ?? 0) > 0)) lines.push('† Connections failed or answers took more than ten seconds; see results.json.');
  return lines;
}

function growthTable(growth: Growth): string[] {
  const rows = [[`${growth.title}: µs of processor time a request`, ...growth.points.map((point) => point.toLocaleString('en'))], ['---', ...growth.points.map(() => '--:')]];
  for (const [name, costs] of Object.entries(growth.peers)) rows.push([name, ...costs.map((cost) => (cost === null ? '–' : cost.toLocaleString('en', { maximumSignificantDigits: 3 })))]);
  return rows.map((row) => `| ${row.join(' | ')} |`);
}
