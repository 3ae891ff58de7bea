import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Outcome } from './linear-walk';
import { Pipeline } from './pipeline';
import type { Sent } from './program';

/** What a server calls for each request. */
export type Listener = (req: IncomingMessage, res: ServerResponse) => void;

/** One real server for all programs: each request is handed to the program under test. */
export class ProgramServer {
  /** The program under test. */
  listener: Listener = () => undefined;
  readonly #server: Server;
  #pipeline: Pipeline | null = null;
  #traces: string[][] = [];
  readonly #lines = new WeakMap<object, string[]>();

  constructor() {
    this.#server = createServer((req, res) => {
      const lines: string[] = [];
      this.#traces.push(lines);
      this.#lines.set(req, lines);
      this.listener(req, res);
    });
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Adds a line to the trace of a request. */
  note(req: object, text: string): void {
    this.#lines.get(req)?.push(text);
  }

  /** Sends all requests to the program; answers what became of each. */
  async ask(requests: readonly Sent[]): Promise<Outcome[]> {
    if (this.#pipeline === null || !this.#pipeline.usable) {
      this.#pipeline?.close();
      this.#pipeline = await Pipeline.open((this.#server.address() as AddressInfo).port);
    }
    this.#traces = [];
    const received = await this.#pipeline.send(requests);
    return received.map(({ status, body }, i) => ({
      trace: this.#traces[i] as string[],
      status,
      body: status === 200 && requests[i]?.method !== 'HEAD' ? body : null,
    }));
  }

  async close(): Promise<void> {
    this.#pipeline?.close();
    const closed = once(this.#server, 'close');
    this.#server.close();
    await closed;
  }
}
