import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Pipeline } from './pipeline';
import { inContext, type Sent } from './program';

/** What became of a request. */
export interface Outcome {
  readonly trace: readonly string[];
  readonly status: number;
  /** Of a function that answered. */
  readonly body: string | null;
}

/** What a server calls for each request. */
export type Listener = (req: IncomingMessage, res: ServerResponse) => void;

/** Turns after which nothing more is to come. */
const QUIET = 5;

/** An async context: the trace of the request that it is of, and the function that has opened it; 0 for none. */
interface Context {
  readonly lines: string[];
  readonly opener: number;
}

/** One real server for all programs: each request is handed to the program under test. */
export class ProgramServer {
  /** The program under test. */
  listener: Listener = () => undefined;
  readonly #server: Server;
  #pipeline: Pipeline | null = null;
  #traces: string[][] = [];
  readonly #lines = new WeakMap<object, string[]>();
  readonly #context = new AsyncLocalStorage<Context>();

  constructor() {
    this.#server = createServer((req, res) => {
      const lines: string[] = [];
      this.#traces.push(lines);
      this.#lines.set(req, lines);
      // What a program calls for a request has to find this there, whatever was waited for.
      this.#context.run({ lines, opener: 0 }, () => this.listener(req, res));
    });
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  /** Adds a line to the trace of a request, with the async context that it was written in. */
  note(req: IncomingMessage, text: string): void {
    const lines = this.#lines.get(req);
    const context = this.#context.getStore();
    lines?.push(context?.lines === lines ? inContext(text, context?.opener ?? 0) : `${text} in the context of another request`);
  }

  /** Calls something in a new async context of a request. */
  open(id: number, req: IncomingMessage, act: () => void): void {
    this.#context.run({ lines: this.#lines.get(req) ?? [], opener: id }, act);
  }

  /** Resolves when nothing has been noted for some turns of the event loop. */
  async quiet(): Promise<void> {
    const count = (): number => this.#traces.reduce((sum, { length }) => sum + length, 0);
    for (let known = -1, turns = 0; turns < QUIET; turns++) {
      if (known !== count()) turns = 0;
      known = count();
      await new Promise(setImmediate);
    }
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
