import type { EventEmitter } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { read } from '../errors';

/** Whom an answer is for: a response, or the socket of an upgrade. */
export interface Client extends EventEmitter {
  readonly destroyed: boolean;
}

/** How a wait ended without what was waited for: the time was up, or the client had gone. */
export type WaitEnd = 'late' | 'gone';

/**
 * A wait that ends: for what is asked of others, a lookup of secrets or a
 * store, which might never answer. Node's own limits of time are past by then,
 * since the request is complete. What is answered later counts for nothing.
 */
export class BoundedWait {
  readonly #req: IncomingMessage;
  readonly #client: Client;
  readonly #timeout: number;
  #ended = false;

  /** @param timeout In milliseconds. */
  constructor(req: IncomingMessage, client: Client, timeout: number) {
    this.#req = req;
    this.#client = client;
    this.#timeout = timeout;
  }

  /** Whether nobody waits any more. */
  get isOver(): boolean {
    return this.#ended || this.#isGone();
  }

  /** What the promise gives while someone waits for it; it must not be rejected. */
  for<T>(asked: Promise<T>): Promise<T | WaitEnd> {
    return new Promise((resolve) => {
      const end = (answer: T | WaitEnd): void => {
        this.#ended = true;
        clearTimeout(timer);
        this.#client.removeListener('close', left);
        resolve(answer);
      };
      const left = (): void => end('gone');
      const timer = setTimeout(end, this.#timeout, 'late');
      this.#client.on('close', left);
      void asked.then((answer) => end(this.#isGone() ? 'gone' : answer));
    });
  }

  #isGone(): boolean {
    // A response that waits behind others on its connection is told nothing when that closes.
    return this.#client.destroyed || read(read(this.#req, 'socket'), 'destroyed') === true;
  }
}
