import { Client, get } from './client';
import { crowd, type Drill, type Figures, hold } from './drill';
import { ServerProcess } from './server-process';

/** A request to switch protocols. */
const UPGRADE = get('/upgrade', 'Connection: Upgrade\r\nUpgrade: websocket\r\n');
/** The default of `server.pipelining`. */
const MOST = 8;
/** How often a byte is sent on, in milliseconds. */
const TRICKLE = 50;

export const unread: Drill = {
  name: 'unread',
  load: '40 clients that ask for 10 MB, pipeline 1,000 requests for files and one to upgrade behind, and never read; half of them send on',
  run(extent) {
    const [clients, writeTimeout, files] = extent === 'whole' ? [40, 2_000, 1_000] : [10, 400, 100];
    return ServerProcess.with({ memory: 600, options: { server: { writeTimeout } } }, async (server): Promise<Figures> => {
      const timers: NodeJS.Timeout[] = [];
      const open: Client[] = [];
      await crowd(clients, async (index) => {
        const client = await Client.open(server.port);
        client.socket.pause();
        client.socket.write(get('/body/sendFile/10000000/1') + get('/body/sendFile/100000/1').repeat(files) + UPGRADE);
        if (index % 2 === 0) timers.push(setInterval(() => client.socket.write('x'), TRICKLE));
        open.push(client);
      });
      await server.until(({ requests }) => requests === clients * MOST, 'not so many have begun');
      // Nobody ends these but the server.
      const { requests } = await server.until(({ connections }) => connections === 0, 'clients that do not read are still served');
      timers.forEach(clearInterval);
      for (const { socket } of open) socket.destroy();
      hold(requests === clients * MOST, `${requests} handlers ran`);
      return { outcome: `the server closed all ${clients} by a limit of ${writeTimeout / 1000} s; ${requests} handlers ran for ${(clients * (files + 1)).toLocaleString('en')} requests` };
    });
  },
};
