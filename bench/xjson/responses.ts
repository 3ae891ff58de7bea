import { once } from 'node:events';
import { Agent, createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { XJsonResponseHandler } from '../../lib/xjson/handler';
import { ask } from './client';
import { rows } from './data';
import { line, ratio } from './figures';

const SIZES = [
  { size: 1000, times: 20, goals: [1.05, 1.8, 2.7] },
  { size: 10_000, times: 15, goals: [1.05, 1.6, 2.7] },
  { size: 1_000_000, times: 2, goals: [1.05, 1.6, 2.7] },
] as const;

/** Whole responses, from the request to the last byte, one after the other. */
export async function compareResponses(): Promise<void> {
  const handler = new XJsonResponseHandler();
  let respond: (res: ServerResponse) => void = (res) => res.end();
  const server = createServer((_req, res) => respond(res)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { port } = server.address() as AddressInfo;
  const asked = (answer: (res: ServerResponse) => void) => (): Promise<number> => {
    respond = answer;
    return ask(port, '/', agent);
  };
  // The server and the client too are compiled as they run: without this, the first figure would be theirs.
  for (const data of [[], rows(10_000, 'all')]) {
    await ratio(asked((res) => handler.send(res, data)), asked((res) => res.end(JSON.stringify(data.length))), 20);
  }
  console.log('\nwhole responses: time against res.end(JSON.stringify(x)) of the same rows without BigInts');
  for (const { size, times, goals } of SIZES) {
    const plain = rows(size, 'none');
    const native = (res: ServerResponse): void => {
      res.setHeader('Content-Type', 'application/json');
      res.end(JSON.stringify(plain));
    };
    const cases = [['', plain], [', a BigInt in every row', rows(size, 'all')], [', a BigInt in the last row', rows(size, 'last')]] as const;
    for (const [i, [name, data]] of cases.entries()) {
      line(`${size.toLocaleString('en')} bytes${name}`, await ratio(asked((res) => handler.send(res, data)), asked(native), times), goals[i]);
    }
  }
  agent.destroy();
  server.close();
}
