import { askOn, openSession } from '../support/http2-client';
import { asking, ENHANCE_YOUR_CALM, frame, FrameClient, GOAWAY, headers, ping, PING, reset, settings, windowUpdate } from '../support/http2-frames';
import { crowd, type Drill, type Figures, hold } from './drill';
import { ServerProcess } from './server-process';

/** What each client does until its session has ended, or it has done so `times` times. */
const FLOODS: Readonly<Record<string, (client: FrameClient, round: number) => Buffer>> = {
  resets: (_client, round) => Buffer.concat(Array.from({ length: 50 }, (_, i) => 2 * (50 * round + i) + 1).flatMap((id) => [headers(id, asking('/ok')), reset(id)])),
  pings: () => Buffer.concat(Array.from({ length: 100 }, () => ping())),
  settings: () => Buffer.concat(Array.from({ length: 100 }, () => settings())),
  continuations: (_client, round) => (round === 0 ? headers(1, asking('/ok'), 0) : frame(9, 0, 1, '')),
};
/** Streams that each of those begins that read nothing. */
const STALLED = 50;

export const http2: Drill = {
  name: 'http2',
  load: 'floods of resets, PING, SETTINGS and CONTINUATION frames on 20 sessions each; 20 with 50 streams of 10 MB and windows of 0, 10 that take nothing off the wire; one client asks all the while',
  run(extent) {
    const count = extent === 'whole' ? 20 : 2;
    return ServerProcess.with({ memory: 500, options: { server: { http2: { cleartext: true, idleTimeout: 2_000 }, writeTimeout: 1_000 } } }, async (server): Promise<Figures> => {
      const session = await openSession(server.port);
      let [asked, isOver] = [0, false];
      const honest = (async () => {
        for (; !isOver; asked++) hold((await askOn(session, '/ok')).body === 'ok', 'the client was answered otherwise');
      })();
      const codes = new Set<number | undefined>();
      for (const flood of Object.values(FLOODS)) await crowd(count, async () => codes.add(await ended(server.port, flood)));
      await crowd(count, () => stall(server.port));
      const blocked = await Promise.all(Array.from({ length: count / 2 }, () => block(server.port)));
      await server.until(({ connections }) => connections === 1, 'connections that are not read are left');
      for (const client of blocked) client.destroy();
      isOver = true;
      await honest;
      session.close();
      hold(codes.has(ENHANCE_YOUR_CALM), 'no flood was told to calm down');
      return { outcome: `${count * Object.keys(FLOODS).length} floods ended, their sessions alone; ${count * STALLED} stalled streams reset and ${count / 2} connections closed after 1 s; ${asked.toLocaleString('en')} requests of another client answered meanwhile` };
    });
  },
};

/** Floods until the session has ended. Returns the code that it was told. */
async function ended(port: number, flood: (client: FrameClient, round: number) => Buffer): Promise<number | undefined> {
  const client = await FrameClient.open(port);
  for (let round = 0; !client.isClosed && round < 1_000; round++) {
    client.send(flood(client, round));
    await new Promise((resolve) => void setImmediate(resolve));
  }
  await client.closed();
  client.destroy();
  return client.frames.find(({ type, payload }) => type === GOAWAY && payload.readUInt32BE(4) !== 0)?.payload.readUInt32BE(4);
}

/** Asks for large responses and gives no window: the streams are reset, whatever else is sent, and the session lives on. */
async function stall(port: number): Promise<void> {
  const client = await FrameClient.open(port, [[4, 0]]);
  const ids = Array.from({ length: STALLED }, (_, i) => 2 * i + 1);
  for (const id of ids) client.send(headers(id, asking('/stream/160')));
  const timer = setInterval(() => client.send(ping()), 100);
  for (const id of ids) hold((await client.end(id)) === 'reset 8', 'a stalled stream was not reset');
  clearInterval(timer);
  hold(await client.isAlive() && client.frames.some(({ type }) => type === PING), 'the session has ended with its streams');
  client.destroy();
}

/** Asks for a large response, gives a large window, and takes nothing off the wire: the connection is closed. */
async function block(port: number): Promise<FrameClient> {
  const client = await FrameClient.open(port, [[4, 2 ** 31 - 1]]);
  client.socket.pause();
  client.send(windowUpdate(0, 2 ** 30), headers(1, asking('/stream/1600')));
  return client;
}
