import { Client, get } from './client';
import { crowd, type Drill, type Figures, hold } from './drill';
import { ServerProcess } from './server-process';

const HEADERS_TIMEOUT = 5_000;

export const halfHead: Drill = {
  name: 'half-head',
  load: '5,000 sockets with half a header line',
  run(extent) {
    const sockets = extent === 'whole' ? 5_000 : 200;
    const headersTimeout = extent === 'whole' ? HEADERS_TIMEOUT : 500;
    return ServerProcess.with({ memory: 400, options: { server: { headersTimeout, connectionsCheckingInterval: 250 } } }, async (server): Promise<Figures> => {
      const refusals: number[] = [];
      const halves: Client[] = [];
      await crowd(sockets, async () => {
        const client = await Client.open(server.port);
        client.send('GET /ok HTTP/1.1\r\nHost: loc', { head: (status) => void refusals.push(status) });
        halves.push(client);
      });
      const most = (await server.counts()).connections;
      const answers = await (async (): Promise<number> => {
        const client = await Client.open(server.port);
        for (let count = 0; ; count++) {
          if (halves.every(({ socket }) => socket.closed)) {
            client.socket.destroy();
            return count;
          }
          const { body } = await client.ask(get('/ok'));
          hold(body === 'ok', `the server answers ${body}`);
        }
      })();
      const { requests } = await server.counts();
      hold(requests === answers, `${requests - answers} handlers ran for half a head`);
      hold(refusals.every((status) => status === 408), `half a head is answered by ${String(refusals.find((status) => status !== 408))}`);
      return { outcome: `${most} open at once, ${refusals.length} told 408 and all closed after ${headersTimeout / 1000} s; ${answers} requests of another client answered meanwhile` };
    });
  },
};
