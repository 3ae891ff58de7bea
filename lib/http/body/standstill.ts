import type { IncomingMessage } from 'node:http';
import { noteReader } from '../node/held-body';

/** Keeps a stream from flowing, whoever lets it, for as long as a capture takes. Who begins to listen when it is done would otherwise take what is left for the whole. */
export class Standstill {
  readonly #stream: IncomingMessage;
  readonly #before: PropertyDescriptor | undefined;
  #isToFlow: boolean;

  constructor(stream: IncomingMessage) {
    this.#stream = stream;
    this.#isToFlow = stream.readableFlowing === true;
    if (this.#isToFlow) stream.pause();
    this.#before = Object.getOwnPropertyDescriptor(stream, 'resume');
    const resume = (): IncomingMessage => {
      this.#isToFlow = true;
      return stream;
    };
    Object.defineProperty(stream, 'resume', { value: resume, writable: true, configurable: true });
  }

  /** Lets the stream flow again from the next turn of the queue on, if it did, or has been let meanwhile. */
  end(): void {
    const stream: Partial<IncomingMessage> = this.#stream;
    // Below an own property lies the stream's method.
    if (this.#before === undefined) delete stream.resume;
    else Object.defineProperty(stream, 'resume', this.#before);
    if (!this.#isToFlow) return;
    noteReader(this.#stream);
    this.#stream.resume();
  }
}
