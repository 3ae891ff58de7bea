import { METHODS, type RequestListener, type ServerResponse } from 'node:http';
import theirs from 'express';
import fc from 'fast-check';
import { createServer, express, Router } from 'waypost';
import { Running } from './support/running';
import { runs } from './support/runs';
import { Wire } from './support/wire';

const running = new Running();
afterAll(() => running.close());

const silent = { logging: { level: 'silent' } } as const;
const answer = (_req: unknown, res: ServerResponse): void => void res.end('answered');

/** What any server of Node is given, and what it throws: in a program that ends the process. */
const thrown: unknown[] = [];
function guarded(listener: (req: never, res: never) => unknown): RequestListener {
  return (req, res) => {
    try {
      listener(req as never, res as never);
    } catch (error) {
      thrown.push(error);
      res.destroy();
    }
  };
}

function around(): [name: string, listener: RequestListener][] {
  const listeners: [string, (req: never, res: never) => unknown][] = [
    ['node:http', answer],
    ['createServer()', createServer(silent).use(answer) as never],
    ['express()', express(silent).use(answer) as never],
    ['express() in express()', express(silent).use(express(silent).use(answer)) as never],
    ['createServer() in a Router in express()', express(silent).use(Router().use(createServer(silent).use(answer))) as never],
    ['in Express', theirs().use(express(silent).use(answer) as never) as never],
    ['a Router in Express', theirs().use(Router().use(answer) as never) as never],
  ];
  return listeners.map(([name, listener]) => [name, guarded(listener)]);
}

describe('whatever a client writes in the head', () => {
  let ports: [name: string, port: number][];
  beforeAll(async () => {
    ports = await Promise.all(around().map(async ([name, listener]): Promise<[string, number]> => [name, await running.serve(listener)]));
    ports.push(['start()', await running.start(createServer(silent).use(answer))], ['start() of express()', await running.start(express(silent).use(answer))]);
  });

  const versions = [...Array(100).keys()].map((number) => `HTTP/${Math.floor(number / 10)}.${number % 10}`);
  const fields = fc.constantFrom(
    'Host: a', 'Host: b', 'Connection: close', 'Connection: keep-alive', 'Connection: Upgrade, HTTP2-Settings', 'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA', 'Expect: 100-continue',
    'Content-Length: 0', 'TE: trailers', 'X-Forwarded-For: ,', 'X-Forwarded-Proto: ', 'Cookie: ', 'X-HTTP-Method-Override: GET', 'Accept: ', 'If-None-Match: *', 'Range: bytes=0-', 'Keep-Alive: timeout=5',
  );
  const heads = fc.record({
    method: fc.oneof({ weight: 3, arbitrary: fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS') }, { weight: 1, arbitrary: fc.constantFrom(...METHODS.filter((method) => method !== 'CONNECT')) }),
    target: fc.constantFrom('/', '/a', '/a?b', '*', 'http://a/b', '/%', '/a/../b', '/a//b', '/?%', '/a;b'),
    version: fc.oneof({ weight: 3, arbitrary: fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/2.0', 'HTTP/0.9') }, { weight: 1, arbitrary: fc.constantFrom(...versions) }),
    fields: fc.array(fields, { maxLength: 4 }),
  });

  const statusOf = async (port: number, text: string): Promise<string> => /^HTTP\/1\.1 (?:100 Continue\r\n\r\nHTTP\/1\.1 )?(\d+)/.exec(await Wire.tell(port, text))?.[1] ?? 'none';

  async function same(line: string, given: readonly string[]): Promise<void> {
    const text = `${line}\r\n${[...given, 'Connection: close'].join('\r\n')}\r\n\r\n`;
    const [[, node], ...others] = ports as [[string, number], ...[string, number][]];
    const wanted = await statusOf(node, text);
    // Applications refuse a second Host (RFC 9112 section 3.2), of which node:http takes the first; a router in Express does as that.
    const isTwice = wanted === '200' && given.filter((field) => field.startsWith('Host:')).length > 1;
    const statuses = await Promise.all(others.map(async ([name, port]): Promise<[string, string]> => [name, await statusOf(port, text)]));
    expect({ text, thrown, statuses }).toEqual({ text, thrown: [], statuses: others.map(([name]) => [name, isTwice && name !== 'a Router in Express' ? '400' : wanted]) });
  }

  test('of every version, it is answered as by node:http, and ends no process', async () => {
    for (const version of versions) await same(`GET / ${version}`, ['Host: a']);
    expect(await statusOf((ports[1] as [string, number])[1], 'GET / HTTP/2.0\r\nHost: a\r\nConnection: close\r\n\r\n')).toBe('200');
  });

  test('by chance', async () => {
    await fc.assert(fc.asyncProperty(heads, ({ method, target, version, fields: given }) => same(`${method} ${target} ${version}`, given)), { numRuns: runs(300) });
  });
});
