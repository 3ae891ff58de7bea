import { once } from 'node:events';
import { connect } from 'node:net';
import { Client, get, post } from './client';
import { crowd, type Drill, type Figures, hold, mebibytes } from './drill';
import { ServerProcess } from './server-process';

const PIPELINED = 4;

/** Clients by what they are doing when the signal comes. */
interface Clients {
  readonly answers: number;
  readonly idle: readonly Client[];
  readonly slow: readonly Client[];
  /** Resolves when every request whose handler had begun is answered whole. */
  readonly answered: Promise<unknown>;
}

async function gather(server: ServerProcess, size: number, slowOnes: number, time: number): Promise<Clients> {
  const busy = Array.from({ length: size }, async () => waited(await Client.open(server.port), 1, time));
  const pipelined = Array.from({ length: size / 4 }, async () => waited(await Client.open(server.port), PIPELINED, time));
  const idle = await Promise.all(Array.from({ length: size }, async () => {
    const client = await Client.open(server.port);
    await client.ask(get('/ok'));
    return client;
  }));
  const slow = await Promise.all(Array.from({ length: slowOnes }, async (_, index) => {
    const client = await Client.open(server.port);
    client.send(index % 2 === 0 ? 'GET /ok HTTP/1.1\r\nHost: loc' : post('/read', 'Content-Type: text/plain\r\nContent-Length: 100\r\n') + 'half of it');
    return client;
  }));
  const answered = Promise.all([...busy, ...pipelined]);
  // Its end is waited for below; what goes wrong before must not be nobody's.
  answered.catch(() => undefined);
  const answers = size + PIPELINED * (size / 4);
  await server.until(({ handlers }) => handlers === answers, `of ${answers} handlers not all have begun`);
  return { answers, idle, slow, answered };
}

/** Asks so many times at once for what takes a while. @throws Error when an answer is not whole. */
async function waited(client: Client, times: number, time: number): Promise<void> {
  const asked = Array.from({ length: times }, () => client.ask(get(`/wait/${time}`)));
  for (const { status, body } of await Promise.all(asked)) hold(status === 200 && body === `{"waited":"${time}"}`, `a request under way is answered ${status} ${body}`);
}

async function isRefused(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' });
  const refused = await once(socket, 'connect').then(() => false, () => true);
  socket.destroy();
  return refused;
}

export const restart: Drill = {
  name: 'restart',
  load: 'SIGTERM with 200 requests in flight, 200 connections idle, 50 with 4 pipelined requests, 50 with half a request',
  async run(extent): Promise<Figures> {
    const [size, slowOnes, time] = extent === 'whole' ? [200, 50, 4_000] : [20, 0, 2_000];
    const server = await ServerProcess.start({ memory: 300, options: { server: { handleSignals: true, keepAliveTimeout: 60_000 } } });
    const { answers, idle, slow, answered } = await gather(server, size, slowOnes, time);
    const { peak } = await server.counts();
    const begun = performance.now();
    const ended = server.terminate();
    await Promise.all(idle.map(({ closed }) => closed));
    const idleGone = performance.now() - begun;
    hold(await isRefused(server.port), 'a server that drains takes another connection');
    await answered;
    const { code, said } = await ended;
    const seconds = (performance.now() - begun) / 1000;
    hold(code === 0, `the server ended with ${String(code)}: ${said}`);
    await crowd(slow.length, (index) => (slow[index] as Client).closed);
    hold([...idle, ...slow].every((client) => client.error === undefined && !client.isWithin), 'half an answer came to who waited for none');
    return {
      outcome: `${answers} of ${answers} answered whole; ${idle.length} idle closed within ${Math.ceil(idleGone)} ms; ${slow.length} cut off; exit code 0 after ${seconds.toFixed(1)} s`,
      left: 'the process has ended by itself', peak: mebibytes(peak),
    };
  },
};
