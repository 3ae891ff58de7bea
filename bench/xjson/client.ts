import { Agent, request } from 'node:http';

/** Asks for a path and answers how many bytes came. */
export function ask(port: number, path: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port, path, agent }, (res) => {
      let bytes = 0;
      res.on('data', (chunk: Buffer) => { bytes += chunk.length; });
      res.on('end', () => resolve(bytes));
      res.on('error', reject);
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** What a client sees of a server that is sending it something large. */
export interface Sight {
  bytes: number;
  /** How long the large answer took, in ms. */
  took: number;
  /** How long each of the small requests meanwhile took, in ms. */
  waits: number[];
}

/** Asks for `/large`, and for `/small` again and again while that is under way. */
async function watch(port: number): Promise<Sight> {
  const agent = new Agent({ keepAlive: true });
  for (let i = 0; i < 50; i++) await ask(port, '/small', agent);
  let under = true;
  const start = performance.now();
  const large = ask(port, '/large', agent).finally(() => { under = false; });
  const waits: number[] = [];
  while (under) {
    const sent = performance.now();
    await ask(port, '/small', agent);
    waits.push(performance.now() - sent);
    // Not a flood: it would be that which keeps the server busy.
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  const bytes = await large;
  agent.destroy();
  return { bytes, took: performance.now() - start, waits };
}

if (process.send !== undefined) {
  process.once('message', (port: number) => {
    void watch(port).then((sight) => process.send?.(sight, () => process.disconnect()));
  });
}
