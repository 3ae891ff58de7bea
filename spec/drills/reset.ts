import { once } from 'node:events';
import { KINDS } from './bodies';
import { Client, get } from './client';
import { crowd, type Drill, type Figures, hold } from './drill';
import { ServerProcess } from './server-process';

/** Answers that are far from sent when their client goes away, by each way to make them. */
const TARGETS = [...KINDS.map((kind) => `/body/${kind}/1000000/7`), '/stream/160'];
const NEVER_READ = 20;

export const reset: Drill = {
  name: 'reset',
  load: '1,000 clients reset within a body, 20 never read one of 10 MB',
  run(extent) {
    const [clients, writeTimeout] = extent === 'whole' ? [1_000, 2_000] : [100, 400];
    return ServerProcess.with({ memory: 700, options: { server: { writeTimeout } } }, async (server): Promise<Figures> => {
      const idle = Array.from({ length: NEVER_READ }, async (_, index) => {
        const client = await Client.open(server.port);
        client.socket.pause();
        client.send(get((TARGETS[index % TARGETS.length] as string).replace('1000000', '10000000')));
        return client;
      });
      await crowd(clients, async (index) => {
        const client = await Client.open(server.port);
        client.send(get(TARGETS[index % TARGETS.length] as string));
        await once(client.socket, 'data');
        client.socket.resetAndDestroy();
      });
      const { body } = await (await Client.open(server.port)).ask(get('/ok', 'Connection: close\r\n'));
      hold(body === 'ok', `the server answers ${body}`);
      // Nobody ends these but the server.
      const counts = await server.until(({ connections }) => connections === 0, 'clients that do not read are still served');
      for (const client of idle) (await client).socket.destroy();
      return { outcome: `${clients} resets and ${NEVER_READ} that never read: ${counts.requests} handlers ran, the server closed the ${NEVER_READ} after ${writeTimeout / 1000} s` };
    });
  },
};
