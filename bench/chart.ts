import type { Growth, Measure, Results } from './results';
import { PEERS, SUBJECT } from './settings';
import type { MedianInterval } from './statistics';
import { isCost } from './table';

const FONT = 'font-family="system-ui, sans-serif"';
const INK = '#1f2328';
const FAINT = '#d0d7de';
const BETTER = '#1a7f37';
const WORSE = '#bc4c00';
const EVEN = '#57606a';
const COLOURS = ['#0969da', '#57606a', '#bc4c00', '#8250df', '#1a7f37', '#bf3989', '#9a6700', '#0a7480'];

const PANEL = { width: 400, top: 34, row: 17, gap: 16, name: 72, figure: 48 };
const LEAST = 0.25;
const MOST = 8;

/** A dot for every peer in every measure, with its interval, to the right of the line where waypost does better, grey where the interval holds 1. */
export function renderRatioChart(results: Results): string {
  const columns = 2;
  const measures = results.measures.filter((measure) => !isCost(measure));
  const peers = Object.keys(measures[0]?.peers ?? {}).filter((name) => name !== SUBJECT);
  const height = PANEL.top + peers.length * PANEL.row + PANEL.gap;
  const rows = Math.ceil(measures.length / columns);
  const panels = measures.map((measure, i) => {
    const x = 20 + (i % columns) * (PANEL.width + 20);
    const y = 66 + Math.floor(i / columns) * height;
    return `<g transform="translate(${x} ${y})">${ratioPanel(measure, peers)}</g>`;
  });
  const heading = 'How many times as well as its peers waypost does (right of 1 is better; grey: no difference found)';
  return frame(2 * PANEL.width + 60, 66 + rows * height + 10, heading, results, `${results.load.connections} connections, ${results.load.rounds} rounds of ${results.load.seconds} s`, panels.join('\n'));
}

function ratioPanel(measure: Measure, peers: readonly string[]): string {
  const from = PANEL.name;
  const width = PANEL.width - PANEL.name - PANEL.figure;
  const scale = (ratio: number): number => from + (Math.log(clamp(ratio, LEAST, MOST) / LEAST) / Math.log(MOST / LEAST)) * width;
  const bottom = PANEL.top + peers.length * PANEL.row;
  const parts = [text(0, 12, measure.title, 'font-weight="600"')];
  for (const tick of [0.25, 0.5, 1, 2, 4, 8]) {
    parts.push(line(scale(tick), PANEL.top - 4, scale(tick), bottom, tick === 1 ? INK : FAINT));
    parts.push(text(scale(tick), 26, tick === MOST ? `${tick}+` : String(tick), `text-anchor="middle" font-size="8" fill-opacity="0.7"`));
  }
  peers.forEach((name, i) => {
    const ratio = measure.peers[name]?.ratio;
    if (ratio === undefined) return;
    const y = PANEL.top + i * PANEL.row + 8;
    const colour = colourOf(ratio);
    parts.push(text(from - 8, y + 4, name, 'text-anchor="end"'));
    parts.push(line(scale(ratio.low), y, scale(ratio.high), y, colour, 2));
    parts.push(`<circle cx="${round(scale(ratio.median))}" cy="${y}" r="4" fill="${colour}"/>`);
    parts.push(text(PANEL.width, y + 4, ratio.median.toFixed(2), 'text-anchor="end"'));
  });
  return parts.join('');
}

/** Where the interval holds 1, neither is known to be better. */
function colourOf({ low, high }: MedianInterval): string {
  if (low > 1) return BETTER;
  return high < 1 ? WORSE : EVEN;
}

const PLOT = { width: 400, height: 230, left: 44, bottom: 34, top: 24, right: 70 };

/** A line for every peer: what a request costs as something grows. Both scales are logarithmic. */
export function renderGrowthChart(results: Results): string {
  const panels = results.growth.map((growth, i) => {
    const x = 20 + (i % 2) * (PLOT.width + 20);
    const y = 60 + Math.floor(i / 2) * (PLOT.height + 16);
    return `<g transform="translate(${x} ${y})">${growthPanel(growth)}</g>`;
  });
  const rows = Math.ceil(results.growth.length / 2);
  return frame(2 * PLOT.width + 60, 60 + rows * (PLOT.height + 16) + 10, 'Processor time of the server for one request, in µs', results, `median of ${results.growth[0]?.rounds ?? 0} runs`, panels.join('\n'));
}

function growthPanel({ title, unit, points, peers }: Growth): string {
  const costs = Object.values(peers).flat().filter((cost) => cost !== null);
  if (costs.length === 0) return text(0, 12, `${title}: nothing measured`);
  const least = 10 ** Math.floor(Math.log10(Math.min(...costs)));
  const most = 10 ** (Math.floor(Math.log10(Math.max(...costs))) + 1);
  const right = PLOT.width - PLOT.right;
  const bottom = PLOT.height - PLOT.bottom;
  const x = (at: number): number => PLOT.left + (at / Math.max(1, points.length - 1)) * (right - PLOT.left);
  const y = (cost: number): number => bottom - (Math.log(cost / least) / Math.log(most / least)) * (bottom - PLOT.top);
  const parts = [text(0, 12, title, 'font-weight="600"')];
  for (let tick = least; tick <= most; tick *= 10) {
    parts.push(line(PLOT.left, y(tick), right, y(tick), FAINT), text(PLOT.left - 6, y(tick) + 4, tick.toLocaleString('en'), 'text-anchor="end"'));
  }
  points.forEach((point, i) => parts.push(text(x(i), bottom + 16, short(point), 'text-anchor="middle"')));
  parts.push(text((PLOT.left + right) / 2, bottom + 30, unit, 'text-anchor="middle" fill-opacity="0.7"'));
  parts.push(...curves(peers, x, y, right, bottom));
  return parts.join('');
}

function curves(peers: Growth['peers'], x: (at: number) => number, y: (cost: number) => number, right: number, lowest: number): string[] {
  const parts: string[] = [];
  const labels: { name: string; colour: string; y: number }[] = [];
  Object.entries(peers).forEach(([name, costs], i) => {
    const colour = COLOURS[i % COLOURS.length] as string;
    const dots = costs.flatMap((cost, at) => (cost === null ? [] : [[round(x(at)), round(y(cost))] as const]));
    const last = dots[dots.length - 1];
    if (last === undefined) return;
    parts.push(`<polyline points="${dots.map((dot) => dot.join(',')).join(' ')}" fill="none" stroke="${colour}" stroke-width="${name === SUBJECT ? 2.5 : 1.5}"/>`);
    for (const [cx, cy] of dots) parts.push(`<circle cx="${cx}" cy="${cy}" r="2.5" fill="${colour}"/>`);
    labels.push({ name, colour, y: last[1] });
  });
  // Labels stand beside the ends of their lines, but never on each other or below the plot.
  labels.sort((a, b) => a.y - b.y);
  let free = -Infinity;
  labels.forEach((label, i) => {
    free = Math.min(Math.max(label.y + 4, free + 13), lowest + 4 - 13 * (labels.length - 1 - i));
    parts.push(text(right + 8, free, label.name, '', label.colour));
  });
  return parts;
}

function frame(width: number, height: number, heading: string, { machine, load }: Results, how: string, content: string): string {
  const where = `${machine.date} · waypost ${machine.versions['waypost'] ?? ''} · Node ${machine.node} · ${machine.processor}, ${machine.cores} cores, ${machine.system}`;
  const peers = PEERS.flatMap((name) => (machine.versions[name] === undefined ? [] : [`${name} ${machine.versions[name]}`])).join(', ');
  const all = height + 12;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${all}" viewBox="0 0 ${width} ${all}" role="img" aria-label="${escape(heading)}" ${FONT} font-size="11">
<rect width="100%" height="100%" fill="#ffffff"/>
${text(20, 22, heading, 'font-size="14" font-weight="600"')}
${text(20, 38, where, 'font-size="9" fill-opacity="0.7"')}
${text(20, 50, `${load.tool}, ${how}${load.pinned ? ', server and load pinned to a core each' : ''} · ${peers}`, 'font-size="9" fill-opacity="0.7"')}
<g transform="translate(0 12)">
${content}
</g>
</svg>
`;
}

function text(x: number, y: number, content: string, attributes = '', fill = INK): string {
  return `<text x="${round(x)}" y="${round(y)}" fill="${fill}" ${attributes}>${escape(content)}</text>`;
}

function line(x1: number, y1: number, x2: number, y2: number, stroke: string, width = 1): string {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" stroke="${stroke}" stroke-width="${width}"/>`;
}

function short(value: number): string {
  if (value >= 2 ** 20 && value % 2 ** 20 === 0) return `${value / 2 ** 20} Mi`;
  if (value >= 1024 && value % 1024 === 0) return `${value / 1024} Ki`;
  return value.toLocaleString('en');
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, value));
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escape(value: string): string {
  return value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
