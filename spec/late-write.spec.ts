import { createServer, type Server, ServerResponse } from 'node:http';
import { Response } from '../lib/http/response';
import { LogRecorder, Running } from './support/running';
import { ask } from './support/wire';

const running = new Running();

afterEach(() => running.close());

/** Bytes behind the end. */
const LATE: Record<string, (res: ServerResponse, told: (error?: Error | null) => void) => unknown> = {
  'write(text)': (res) => res.write('late'),
  'write(bytes, callback)': (res, told) => res.write(Buffer.from('late'), told),
  'write(text, encoding, callback)': (res, told) => res.write('late', 'latin1', told),
  'end(text)': (res) => res.end('late'),
  'end(text, callback)': (res, told) => res.end('late', told),
  'end(text, encoding, callback)': (res, told) => res.end('late', 'utf8', told),
  'two of them': (res) => [res.write('late'), res.write('later')],
};

/** Servers of plain node:http, whose responses are Node's and waypost's. */
function servers(listener: (res: ServerResponse) => void): Server[] {
  return [ServerResponse, Response as unknown as typeof ServerResponse].map((type) => createServer({ ServerResponse: type }, (_req, res) => listener(res)));
}

describe.each(Object.keys(LATE))('%s', (name) => {
  const late = LATE[name] as (typeof LATE)[string];

  test.each(['before', 'behind, in the same turn'])('is told to who listens, as on node:http: %s', async (when) => {
    const seen: unknown[][] = [];
    for (const server of servers((res) => {
      const notes: unknown[] = [];
      seen.push(notes);
      const listen = (): unknown => res.on('error', (error: NodeJS.ErrnoException) => notes.push(['error', error.code, error.message]));
      res.end('whole');
      if (when === 'before') listen();
      notes.push(typeof late(res, (error) => notes.push(['callback', (error as NodeJS.ErrnoException | null)?.code])));
      if (when !== 'before') listen();
    })) expect((await ask(await running.listen(server), '/')).body).toBe('whole');
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen[0]).toContainEqual(['error', 'ERR_STREAM_WRITE_AFTER_END', 'write after end']);
    expect(seen[1]).toEqual(seen[0]);
  });

  test.each(['at once', 'when it has closed'])('is logged where nobody listens, and the process lives: %s', async (when) => {
    const log = new LogRecorder();
    const port = await running.app((app) => {
      app.get('/', (_req, res) => {
        const write = (): void => void late(res as never, () => undefined);
        if (when !== 'at once') res.on('close', () => setImmediate(write));
        res.end('whole');
        if (when === 'at once') write();
      });
      app.get('/next', (_req, res) => res.send('next'));
    }, { logging: { logger: log } });
    expect((await ask(port, '/')).body).toBe('whole');
    expect((await ask(port, '/next')).body).toBe('next');
    const lines = log.lines.filter(({ level }) => level === 'error');
    expect(lines.length).toBe(name === 'two of them' ? 2 : 1);
    expect(lines[0]).toMatchObject({ message: 'Data was written after the response had ended', fields: { url: '/', err: { code: 'ERR_STREAM_WRITE_AFTER_END' } } });
  });

  test('is not logged where somebody listens', async () => {
    const log = new LogRecorder();
    const heard: unknown[] = [];
    const port = await running.app((app) => app.get('/', (_req, res) => {
      res.end('whole');
      late(res as never, () => undefined);
      res.on('error', (error) => heard.push(error));
    }), { logging: { logger: log } });
    await ask(port, '/');
    expect(heard.length).toBe(name === 'two of them' ? 2 : 1);
    expect(log.messages('error')).toEqual([]);
  });
});
