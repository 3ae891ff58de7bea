import { gzipSync } from 'node:zlib';
import { Client, get, post } from './client';
import { crowd, type Drill, type Figures, hold } from './drill';
import { ServerProcess } from './server-process';

/** 100 KiB of empty objects, which V8 takes 2 MB for. */
const OBJECTS = gzipSync(`[${Array(34_132).fill('{}').join()}]`);
const HEAD = post('/private/notes', `Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: ${OBJECTS.length}\r\n`);
const POSTS = 250;

export const refused: Drill = {
  name: 'refused',
  load: '250 compressed POSTs that a login check refuses, behind an open event stream, on each of 10 connections, for a process whose heap is 512 MB',
  run(extent) {
    const clients = extent === 'whole' ? 10 : 2;
    return ServerProcess.with({ memory: 400, heap: 512 }, async (server): Promise<Figures> => {
      const { memory: before } = await server.counts();
      let sent = 0;
      let most = 0;
      let told = 0;
      let streams = 0;
      await crowd(clients, async () => {
        const client = await Client.open(server.port);
        await new Promise<void>((resolve) => client.send(get('/events'), { head: () => resolve() }));
        streams++;
        const ended = new Promise<void>((resolve) => {
          for (let left = POSTS; left > 0; left--) {
            client.send(Buffer.concat([Buffer.from(HEAD), OBJECTS]), { head: (status) => (told += Number(status === 401)), end: left === 1 ? resolve : () => undefined });
            sent += HEAD.length + OBJECTS.length;
          }
        });
        if (streams === clients) {
          let seen = -1;
          const { memory } = await server.until(({ requests }) => requests === seen || ((seen = requests), false), 'requests come on and on');
          most = memory - before;
          await (await Client.open(server.port)).ask(get('/events/end', 'Connection: close\r\n'));
        }
        await Promise.race([ended, client.closed]);
        client.socket.destroy();
      });
      hold(told === clients * POSTS, `${told} of ${clients * POSTS} were told 401`);
      hold(most < 100 * sent, `${most} bytes of memory were kept for ${sent} that were sent`);
      return { outcome: `${told} told 401; while they waited ${Math.round(most / sent)} bytes of memory were kept for each that was sent` };
    });
  },
};
