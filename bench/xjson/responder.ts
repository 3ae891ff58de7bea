import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { XJsonResponseHandler } from '../../lib/http/xjson-response';
import { type Big, type Row, rows } from './data';

/** What the server tells of itself. */
export interface Responder {
  readonly port: number;
  /** Processor time used so far, in microseconds. */
  readonly cpu: number;
}

/** Answers `/native/<which rows hold a BigInt>/<bytes>` with `res.end(JSON.stringify(x))`, and `/xjson/…` with the handler. */
function respond(): void {
  const handler = new XJsonResponseHandler();
  const made = new Map<string, Row | Row[]>();
  const dataOf = (url: string): Row | Row[] => {
    const [, , kind, size] = url.split('/');
    return rows(Number(size), kind as Big);
  };
  const server = createServer((req, res) => {
    const url = req.url as string;
    let data = made.get(url);
    if (data === undefined) made.set(url, (data = dataOf(url)));
    if (url.startsWith('/xjson')) {
      handler.send(res, data);
    } else {
      res.setHeader('Content-Type', 'application/json');
      res.end(JSON.stringify(data));
    }
  }).listen(0, '127.0.0.1', () => {
    const { port } = server.address() as AddressInfo;
    process.on('message', () => {
      const { user, system } = process.cpuUsage();
      process.send?.({ port, cpu: user + system } satisfies Responder);
    });
  });
  process.once('disconnect', () => server.close(() => process.exit()));
}

respond();
