import type { RequestListener } from 'node:http';
import theirs from 'express';
import { express } from 'waypost';
import { Running } from './support/running';
import { head, Wire } from './support/wire';

const running = new Running();
afterEach(() => running.close());

test.each(['send', 'json'] as const)('res.%s announces its length where the program has set an empty Transfer-Encoding, as in Express', async (method) => {
  const lengths: (string | undefined)[] = [];
  // Read as it comes: Node's own client, from 24 on, refuses the two fields beside each other.
  for (const app of [theirs(), express({ logging: { level: 'silent' } }) as unknown as theirs.Express]) {
    app.get('/', (_req: theirs.Request, res: theirs.Response) => void res.set('Transfer-Encoding', '')[method]({ a: 1 }));
    const text = await Wire.tell(await running.serve(app as RequestListener), head('GET /', { Connection: 'close' }));
    lengths.push(/^Content-Length: .*$/im.exec(text)?.[0]);
  }
  expect(lengths).toEqual(['Content-Length: 7', 'Content-Length: 7']);
});
