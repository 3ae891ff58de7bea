import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { Client, get, post } from './client';
import { crowd, type Drill, type Figures, hold, mebibytes } from './drill';
import { ServerProcess } from './server-process';

const MIB = 2 ** 20;
const zeros = Buffer.alloc(MIB);
const rows = Buffer.from(Array.from({ length: 9_000 }, (_, row) => `row ${row} of a long list, which repeats itself as lists of rows do;`).join('\n'));
const broken = gzipSync(rows);
broken.fill(0xff, 100, 400);

/** Bodies by what is to become of them. */
const BODIES: readonly { bytes: Buffer; coding: string; status: number; length?: number }[] = [
  { bytes: gzipSync(zeros), coding: 'gzip', status: 413 },
  { bytes: brotliCompressSync(zeros), coding: 'br', status: 413 },
  { bytes: gzipSync(Buffer.alloc(64 * MIB)), coding: 'gzip', status: 413 },
  { bytes: gzipSync(rows), coding: 'gzip', status: 200, length: rows.length },
  { bytes: deflateSync(rows), coding: 'deflate', status: 200, length: rows.length },
  { bytes: broken, coding: 'gzip', status: 400 },
  { bytes: gzipSync(rows).subarray(0, 5_000), coding: 'gzip', status: 400 },
  { bytes: rows.subarray(0, 1_000), coding: 'br', status: 400 },
];

export const inflate: Drill = {
  name: 'inflate',
  load: '2,000 compressed bodies at once: rows, zeros that come to 1,000 times their length and more, broken ones',
  run(extent) {
    const clients = extent === 'whole' ? 2_000 : 160;
    return ServerProcess.with({ memory: 500 }, async (server): Promise<Figures> => {
      const all = await Promise.all(Array.from({ length: clients }, () => Client.open(server.port)));
      await crowd(clients, async (index) => {
        const { bytes, coding, status, length } = BODIES[index % BODIES.length] as (typeof BODIES)[number];
        const head = post('/read', `Content-Type: text/plain\r\nContent-Encoding: ${coding}\r\nContent-Length: ${bytes.length}\r\n`);
        const client = all[index] as Client;
        const answer = await client.ask(Buffer.concat([Buffer.from(head), bytes]));
        hold(answer.status === status, `body ${index % BODIES.length} is answered ${answer.status} ${answer.body}`);
        if (length !== undefined) hold((JSON.parse(answer.body) as { text: number }).text === length, `body ${index % BODIES.length} comes to ${answer.body}`);
        client.socket.end();
      });
      const { body } = await (await Client.open(server.port)).ask(get('/ok', 'Connection: close\r\n'));
      hold(body === 'ok', `the server answers ${body}`);
      const whole = BODIES.filter(({ status }) => status === 200).length;
      const sums = BODIES.map(({ length = 0 }) => length).reduce((sum, length) => sum + length, 0);
      return { outcome: `${(clients * whole) / BODIES.length} read whole, ${mebibytes((clients / BODIES.length) * sums)} together; the others told 413 or 400` };
    });
  },
};
