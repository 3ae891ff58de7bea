import { once } from 'node:events';
import { Client, get, post } from './client';
import { crowd, type Drill, type Figures, hold, mebibytes } from './drill';
import { ServerProcess } from './server-process';

const SECRET = 'the secret of a drill, of more than thirty-two bytes';
const PIECE = Buffer.alloc(1_000_000, 'x');
const CHUNK = Buffer.concat([Buffer.from(`${PIECE.length.toString(16)}\r\n`), PIECE, Buffer.from('\r\n')]);

/** A head, and what is sent behind it again and again. */
function request(index: number, length: number): { head: string; piece: Buffer } {
  const type = 'Content-Type: application/octet-stream\r\n';
  const wrong = index % 4 < 2 ? '' : `Svc-Request-Sig: ${'ab'.repeat(32)}\r\nX-Timestamp: ${Date.now()}\r\n`;
  return index % 2 === 0
    ? { head: post('/signed', `${type}${wrong}Content-Length: ${length}\r\n`), piece: PIECE }
    : { head: post('/signed', `${type}${wrong}Transfer-Encoding: chunked\r\n`), piece: CHUNK };
}

export const upload: Drill = {
  name: 'upload',
  load: '100 uploads of 100 MB to a signed route, half without a signature and half with a wrong one',
  run(extent) {
    const [clients, length] = extent === 'whole' ? [100, 100_000_000] : [12, 10_000_000];
    // Whoever goes on sending is listened to for five seconds.
    const insists = extent === 'whole';
    const options = { security: { requestSignature: { secret: SECRET }, routeConfig: { requestSignature: { includeRoutes: ['/signed'] } } } };
    return ServerProcess.with({ memory: 400, options }, async (server): Promise<Figures> => {
      const statuses = new Map<number, number>();
      await crowd(clients, async (index) => {
        const client = await Client.open(server.port);
        const { head, piece } = request(index, length);
        let isTold = false;
        client.send(head, { head: (status) => {
          isTold = true;
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        } });
        const { socket } = client;
        for (let sent = 0; sent < length && !socket.destroyed && (insists || !isTold); sent += PIECE.length) {
          if (!socket.write(piece)) await Promise.race([once(socket, 'drain').catch(() => undefined), client.closed]);
        }
        if (!insists && isTold) socket.destroy();
        await client.closed;
        hold(isTold, `upload ${index} was not answered`);
      });
      const { body } = await (await Client.open(server.port)).ask(get('/ok', 'Connection: close\r\n'));
      hold(body === 'ok', `the server answers ${body}`);
      const { passed, read } = await server.until(({ connections }) => connections === 0, 'uploads are still taken');
      hold(passed === 0, `${passed} unsigned requests reached the handler`);
      hold([...statuses.keys()].every((status) => status === 401 || status === 413), `uploads are answered ${[...statuses.keys()].join(', ')}`);
      const told = [...statuses].sort().map(([status, count]) => `${count} told ${status}`).join(', ');
      return { outcome: `${told}; no handler ran; ${mebibytes(read)} of ${mebibytes(clients * length)} were taken off the wire` };
    });
  },
};
