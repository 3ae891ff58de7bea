import { get } from 'node:http';
import { type Bench, runsOfRound, START } from './comparison';
import { lessIsBetter, Pairs } from './pairs';
import { type ModuleFormat, PeerProcess } from './peer-process';
import type { Measure } from './results';
import type { Settings } from './settings';

/**
 * Both ways of loading a package, since Node's own cost differs: `import` of node:http reads all that it exports,
 * and loads what stands behind its getters (since Node 22 a WebSocket client, with all of fetch).
 */
const FORMATS: readonly { readonly format: ModuleFormat; readonly name: string; readonly title: string }[] = [
  { format: 'mjs', name: 'start', title: 'ES module' },
  { format: 'cjs', name: 'start-cjs', title: 'CommonJS' },
];

export function startSeconds(settings: Settings): number {
  return FORMATS.length * settings.rounds * runsOfRound(settings) * START;
}

/** A process that has just answered for the first time. */
interface Start {
  /** Time from its start to its first answer, in milliseconds. */
  readonly took: number;
  /** Resident memory, in bytes. */
  readonly memory: number;
}

/** The time from the start of the smallest program to its first answer, and the memory that it has then. */
export async function compareStarts(bench: Bench): Promise<Measure[]> {
  const measures: Measure[] = [];
  for (const { format, name, title } of FORMATS) {
    const pairs = await compareFormat(bench, format, title);
    measures.push(
      { name, title: `start to first answer, ${title}`, unit: 'ms', peers: pairs.results(({ took }) => took, lessIsBetter) },
      { name: `${name}-memory`, title: `memory, after first answer, ${title}`, unit: 'bytes', peers: pairs.results(({ memory }) => memory, lessIsBetter) },
    );
  }
  return measures;
}

async function compareFormat(bench: Bench, format: ModuleFormat, title: string): Promise<Pairs<Start>> {
  const { settings, progress } = bench;
  const pairs = new Pairs<Start>();
  for (let round = 0; round < settings.rounds; round++) {
    await pairs.round(settings.peers, round, async (group) => {
      const starts = new Map<string, Start>();
      for (const name of group) {
        progress.step(`start, ${title}: ${name}, round ${round + 1} of ${settings.rounds}`, START);
        starts.set(name, await timeStart(bench, format, name));
      }
      return starts;
    });
  }
  return pairs;
}

async function timeStart({ settings, pins }: Bench, format: ModuleFormat, name: string): Promise<Start> {
  const from = performance.now();
  const peer = await PeerProcess.startHello(name, format, settings.base, pins);
  try {
    await greet(peer);
    const took = performance.now() - from;
    return { took, memory: (await peer.usage()).rss };
  } finally {
    await peer.stop();
  }
}

/** @throws Error that names the peer, when it answers anything else. */
async function greet({ name, port }: PeerProcess): Promise<void> {
  const text = await new Promise<string>((resolve, reject) => {
    get({ host: '127.0.0.1', port, agent: false }, (res) => {
      let body = '';
      res.setEncoding('utf8').on('data', (chunk: string) => { body += chunk; }).on('end', () => resolve(body));
    }).on('error', reject);
  });
  if (text !== '{"hello":"world"}') throw new Error(`${name}: the smallest program answers ${JSON.stringify(text)}`);
}
