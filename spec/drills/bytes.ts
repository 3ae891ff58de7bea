import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/child-program';
import { Dice } from '../support/hostile-target';
import { crowd, type Drill, type Figures, mebibytes } from './drill';
import { ServerProcess } from './server-process';
import { type Speed, visit } from './visit';

const SPEEDS: readonly Speed[] = ['fast', 'fast', 'uneven', 'slow'];
const https = {
  key: readFileSync(join(ROOT, 'demo/tls/demo-only-key.pem'), 'utf8'),
  cert: readFileSync(join(ROOT, 'demo/tls/demo-only-cert.pem'), 'utf8'),
};

export const bytes: Drill = {
  name: 'bytes',
  load: '500 clients of all speeds, pipelining, a fifth leaving within an answer, over HTTP and then HTTPS: bodies of 10 B to 10 MB by json, xJson, send and sendFile',
  async run(extent): Promise<Figures> {
    const crowd = extent === 'whole' ? { clients: 500, visits: 4, slowness: 4_000, largest: 10_000_000 } : { clients: 30, visits: 1, slowness: 500, largest: 1_000_000 };
    const plain = await read(crowd, false);
    const secure = await read(crowd, true);
    const [answers, total] = [0, 1].map((index) => (plain.sums[index] as number) + (secure.sums[index] as number)) as [number, number];
    return {
      outcome: `${answers.toLocaleString('en')} answers and ${mebibytes(total)} compared, no byte differed and none was missing`,
      left: plain.figures['left'] as string, peak: `${plain.figures['peak'] as string}, ${secure.figures['peak'] as string} with TLS`,
    };
  },
};

async function read({ clients, visits, slowness, largest }: Readonly<Record<'clients' | 'visits' | 'slowness' | 'largest', number>>, tls: boolean): Promise<{ figures: Figures; sums: [number, number] }> {
  const sums: [number, number] = [0, 0];
  const figures = await ServerProcess.with({ memory: 1_500, options: tls ? { server: { https } } : {} }, async (server) => {
    await crowd(clients, async (index) => {
      const dice = new Dice(index + (tls ? 10_000 : 0));
      for (let count = 0; count < visits; count++) {
        const { answers, bytes } = await visit({ port: server.port, tls, speed: SPEEDS[index % SPEEDS.length] as Speed, aborts: dice.once(5), requests: 4, slowness, largest }, dice);
        sums[0] += answers;
        sums[1] += bytes;
      }
    });
    return {};
  });
  return { figures, sums };
}
