import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Ports for programs that can't be given 0: below those that the system gives whoever asks for any, as other specs do meanwhile. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(10_000, 32_768);
    const server = createServer().listen(port, '127.0.0.1');
    const isFree = await once(server, 'listening').then(() => true, () => false);
    if (!isFree) continue;
    ports.add(port);
    await new Promise((resolve) => server.close(resolve));
  }
  return [...ports];
}
