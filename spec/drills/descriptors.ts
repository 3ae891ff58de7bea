import { Body } from './bodies';
import { Client, get } from './client';
import { crowd, type Drill, type Figures, hold } from './drill';
import { ServerProcess } from './server-process';

const DESCRIPTORS = 64;

export const descriptors: Drill = {
  name: 'descriptors',
  load: '200 sockets that ask for files, for a process that may have 64 files and sockets open',
  run(extent) {
    const [sockets, rounds] = extent === 'whole' ? [200, 10] : [100, 2];
    return ServerProcess.with({ memory: 300, descriptors: DESCRIPTORS }, async (server): Promise<Figures> => {
      const came = { whole: 0, refused: 0, closed: 0 };
      for (let round = 0; round < rounds; round++) {
        await crowd(sockets, async (index) => came[await fetchFile(server.port, index)]++);
      }
      // There is room again.
      for (let index = 0; index < 4; index++) hold((await fetchFile(server.port, index)) === 'whole', 'files are not sent any more');
      return { outcome: `of ${sockets * rounds} requests ${came.whole} were answered whole, ${came.refused} told 500, ${came.closed} closed before an answer; then files are sent as before` };
    });
  },
};

/** Asks for a file. @throws Error for a byte that is not the file's, and for half of it. */
async function fetchFile(port: number, index: number): Promise<'whole' | 'refused' | 'closed'> {
  const expected = new Body('sendFile', 100_000, index % 4);
  const client = await Client.open(port);
  let came: 'whole' | 'refused' | 'closed' = 'closed';
  let status = 0;
  client.send(get(`/body/sendFile/100000/${index % 4}`), {
    head: (code) => (status = code),
    body: (chunk, offset) => hold(status !== 200 || expected.holds(chunk, offset), `a byte from ${offset} on is another's`),
    end: () => {
      came = status === 200 ? 'whole' : 'refused';
      client.socket.end();
    },
  });
  await client.closed;
  if (client.error !== undefined) throw client.error;
  hold(status === 0 || status === 200 || status === 500, `a file is answered ${status}`);
  hold(status === 0 || came !== 'closed', 'an answer was not whole');
  return came;
}
