import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';

/** The receiver of an answer: a response, or the socket of an upgrade. */
export interface Client extends EventEmitter {
  readonly destroyed: boolean;
}

/** The end of a wait without a result: the time is up, or the client has disconnected. */
export type WaitEnd = 'timeout' | 'closed';

/**
 * A wait with a timeout. A lookup of secrets or a store may never answer, and
 * Node's own time limits no longer apply to a complete request. A later
 * answer is ignored.
 */
export class BoundedWait {
  readonly #req: IncomingMessage;
  readonly #client: Client;
  readonly #timeout: number;
  #isDone = false;

  /** @param timeout In milliseconds. */
  constructor(req: IncomingMessage, client: Client, timeout: number) {
    this.#req = req;
    this.#client = client;
    this.#timeout = timeout;
  }

  /** True once the result is no longer needed. */
  get isOver(): boolean {
    return this.#isDone || this.#isClosed();
  }

  /** Resolves with the promise's result, or with how the wait ended; the promise must not be rejected. */
  for<T>(promise: Promise<T>): Promise<T | WaitEnd> {
    return new Promise((resolve) => {
      const end = (answer: T | WaitEnd): void => {
        this.#isDone = true;
        clearTimeout(timer);
        this.#client.removeListener('close', onClose);
        resolve(answer);
      };
      const onClose = (): void => end('closed');
      const timer = setTimeout(end, this.#timeout, 'timeout');
      this.#client.on('close', onClose);
      void promise.then((answer) => end(this.#isClosed() ? 'closed' : answer));
    });
  }

  #isClosed(): boolean {
    // A pipelined response that waits for its turn gets no event when the connection closes.
    return this.#client.destroyed || (this.#req.socket as IncomingMessage['socket'] | null)?.destroyed === true;
  }
}
