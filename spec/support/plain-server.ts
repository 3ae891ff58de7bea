import type { RequestListener } from 'node:http';
import { Running } from './running';

/** A server of plain node:http for all tests of a file; each sets what it does. */
export class PlainServer {
  listener: RequestListener = (_req, res) => res.end();
  port = 0;
  readonly #running = new Running();

  async start(): Promise<void> {
    this.port = await this.#running.serve((req, res) => this.listener(req, res));
  }

  close(): Promise<void> {
    return this.#running.close();
  }
}
