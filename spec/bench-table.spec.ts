import { pairedResult } from './support/bench-results';
import { renderGrowthChart, renderRatioChart } from '../bench/chart';
import type { Results } from '../bench/results';
import { renderTable } from '../bench/table';

const RESULTS: Results = {
  machine: { date: '2024-05-06', system: 'Linux', processor: 'A & B', cores: 2, memoryGiB: 8, node: '20.0.0', versions: { waypost: '1.0.0 (abc)', fastify: '5.0.0' } },
  load: { tool: 'wrk 4', connections: 50, seconds: 2, rounds: 3, pinned: true, deferred: false, semiSpace: undefined, warmUp: undefined },
  measures: [
    { name: 'static', title: 'static JSON', unit: 'requests/s', peers: { waypost: pairedResult([60_000, 61_000, 62_000]), fastify: { ...pairedResult([50_000, 50_000, 50_000], [1.2, 1.1, 1.3]), failures: 1 } } },
    { name: 'post', title: 'POST', unit: 'requests/s', peers: { waypost: { ...pairedResult([30_000]), failures: 2 }, fastify: { ...pairedResult([50_000], [0.6]), failures: 1 } } },
    { name: 'static-cpu', title: 'static JSON', unit: 'µs', peers: { waypost: pairedResult([12.4]), fastify: pairedResult([14], [1.13]) } },
    { name: 'static-above', title: 'static JSON', unit: 'µs above bare', peers: { waypost: pairedResult([2.44]), fastify: pairedResult([4], [1.64]) } },
    { name: 'latency-64-p99', title: 'latency, 99th percentile, 64 connections', unit: 'ms of latency', rate: 6000, late: 0.0512, peers: { waypost: pairedResult([1.2345]), fastify: pairedResult([2], [1.62]) } },
    { name: 'idle', title: 'memory, idle', unit: 'bytes', peers: { waypost: pairedResult([2 ** 20 * 50]), fastify: pairedResult([2 ** 20 * 60], [1.2]) } },
  ],
  growth: [{ name: 'routes', title: 'Routes', unit: 'routes', points: [10, 1000], rounds: 3, peers: { waypost: [10, 12.34], fastify: [11, null] } }],
};

describe('what the benchmark writes', () => {
  const table = renderTable(RESULTS);

  test('a row for each measure: what waypost did, and the ratio to each peer with its interval', () => {
    expect(table).toContain('|  | waypost = 1.00 | fastify |');
    expect(table).toContain('| static JSON | 61,000 /s | 1.20 (1.10–1.30) † |');
    expect(table).toContain('| POST | 30,000 /s † | 0.60 † |');
    expect(table).toContain('| memory, idle | 50 MiB | 1.20 |');
  });

  test('says where requests were handed on later', () => {
    expect(table).toContain('3 rounds of 2 s, server and load pinned to a core each.');
    expect(renderTable({ ...RESULTS, load: { ...RESULTS.load, deferred: true } })).toContain('pinned to a core each, requests handed on by setImmediate.');
  });

  test('says how large semi-spaces were made', () => {
    expect(renderTable({ ...RESULTS, load: { ...RESULTS.load, semiSpace: 16 } })).toContain('pinned to a core each, semi-spaces of 16 MiB.');
    expect(renderTable({ ...RESULTS, load: { ...RESULTS.load, warmUp: 20 } })).toContain('pinned to a core each, behind 20 s of load.');
  });

  test('the mean of the load is the geometric one, without memory', () => {
    expect(table).toContain(`| all of the load, geometric mean |  | ${Math.sqrt(1.2 * 0.6).toFixed(2)} |`);
  });

  test('processor time has a table of its own, and so has what a bare server does not take', () => {
    const [, time, above] = table.split(/\| processor time a request/);
    expect(time).toContain('| static JSON | 12 µs | 1.13 |');
    expect(above).toMatch(/^ above a bare server's \| waypost = 1.00 \| fastify \|/);
    expect(above).toContain('| static JSON | 2.4 µs | 1.64 |');
  });

  test('latency has a table of its own, which says at what rate, and how late the load itself was', () => {
    const [, latency] = table.split('| at 6,000 requests/s | waypost = 1.00 | fastify |');
    expect(latency).toContain('| latency, 99th percentile, 64 connections | 1.23 ms | 1.62 |');
    expect(table.match(/latency, 99th/g)).toHaveLength(1);
    expect(table).toContain('the load itself came to one more than 0.051 ms late');
    expect(renderTable({ ...RESULTS, measures: [] })).not.toContain('requests/s');
    expect(renderTable({ ...RESULTS, measures: RESULTS.measures.filter(({ rate }) => rate !== undefined) })).toContain('| at 6,000 requests/s |');
  });

  test('failed connections are told, and so is how sure the interval is', () => {
    expect(table).toContain('† Connections failed');
    expect(table).toContain('holds it in 75 of 100 cases');
  });

  test('a point that could not be measured is a dash', () => {
    expect(table).toContain('| Routes: µs of processor time a request | 10 | 1,000 |');
    expect(table).toContain('| waypost | 10 | 12.3 |');
    expect(table).toContain('| fastify | 11 | – |');
  });

  test('the charts show every measure, escape what they are given, and say how it was measured', () => {
    const ratios = renderRatioChart(RESULTS);
    const shown = RESULTS.measures.filter(({ unit }) => !unit.startsWith('µs'));
    for (const { title } of shown) expect(ratios).toContain(`>${title}</text>`);
    expect(ratios).toContain('A &amp; B');
    expect(ratios).toContain('3 rounds of 2 s');
    expect(ratios.match(/<circle/g)).toHaveLength(shown.length);
    const growth = renderGrowthChart(RESULTS);
    expect(growth).toContain('median of 3 runs');
    // One dot for each figure there is.
    expect(growth.match(/<circle/g)).toHaveLength(3);
  });
});
