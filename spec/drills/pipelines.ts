import { once } from 'node:events';
import { Body } from './bodies';
import { Client, get } from './client';
import { crowd, type Drill, type Figures, hold, mebibytes } from './drill';
import { ServerProcess } from './server-process';

/** The default of `server.pipelining`. */
const MOST = 8;
/** Bytes of each file. */
const SIZE = 100_000;
/** Most memory that the held requests of one connection may take: some hundred bytes of wire and some kilobytes of heap each. */
const HELD = 25 * 2 ** 20;

export const pipelines: Drill = {
  name: 'pipelines',
  load: '10 connections that each ask for 1,000 files by one write and read nothing for a while; 10 that send 30,000 requests behind an open event stream, and leave',
  run(extent) {
    const [connections, files, requests] = extent === 'whole' ? [10, 1_000, 30_000] : [2, 300, 5_000];
    return ServerProcess.with({ memory: 500 }, async (server): Promise<Figures> => {
      const before = await server.counts();
      const readers = await opened(server, connections, (client) => {
        client.socket.pause();
        return askForFiles(client, files);
      });
      const most = await mostDescriptors(server, 5);
      hold(most - before.descriptors <= connections * (MOST + 1), `${most - before.descriptors} descriptors were taken by ${connections} connections`);
      for (const { client } of readers) client.socket.resume();
      await Promise.all(readers.map(({ done }) => done));
      const settled = await server.until(({ connections: open }) => open === 0, 'connections are left');
      hold(settled.requests === connections * files, `${settled.requests} handlers ran`);

      const streams = await opened(server, connections, async (client) => {
        client.send(get('/events'));
        await once(client.socket, 'data');
        client.socket.write(get('/ok').repeat(requests));
      });
      await Promise.all(streams.map(({ done }) => done));
      const held = await server.until(({ requests: begun }) => begun === settled.requests + connections * MOST, 'not so many have begun');
      const grown = held.memory - settled.memory;
      hold(grown <= connections * HELD, `${mebibytes(grown)} are held for ${connections} connections`);
      for (const { client } of streams) client.socket.resetAndDestroy();
      return {
        outcome: `${connections * files} files sent whole, by at most ${most - before.descriptors} descriptors; of ${(connections * requests).toLocaleString('en')} requests behind event streams ${connections * (MOST - 1)} begun, ${mebibytes(grown)} of heap held for ${connections} connections`,
      };
    });
  },
};

/** Opens connections, and begins that on each. */
async function opened(server: ServerProcess, count: number, act: (client: Client) => Promise<unknown>): Promise<{ client: Client; done: Promise<unknown> }[]> {
  const clients: { client: Client; done: Promise<unknown> }[] = [];
  await crowd(count, async () => {
    const client = await Client.open(server.port);
    clients.push({ client, done: act(client) });
  });
  return clients;
}

/** Asks for files by one write, and compares each byte of them. */
async function askForFiles(client: Client, count: number): Promise<void> {
  const requests = Array.from({ length: count }, (_, index) => get(`/body/sendFile/${SIZE}/${index % 4}`));
  client.socket.write(requests.join(''));
  for (let index = 0; index < count; index++) {
    const expected = new Body('sendFile', SIZE, index % 4);
    client.send('', {
      head: (status) => hold(status === 200, `a file is answered ${status}`),
      body: (chunk, offset) => hold(expected.holds(chunk, offset), `a byte from ${offset} on is another's`),
      end: () => void (index === count - 1 && client.socket.end()),
    });
  }
  await client.closed;
  if (client.error !== undefined) throw client.error;
  hold(client.answered === count, `${client.answered} of ${count} files were sent`);
}

async function mostDescriptors(server: ServerProcess, looks: number): Promise<number> {
  let most = 0;
  for (let left = looks; left > 0; left--) most = Math.max(most, (await server.counts()).descriptors);
  return most;
}
