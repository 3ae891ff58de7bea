import type { IncomingMessage } from 'node:http';
import { hasEnd } from '../node/buffered-body';
import { noteReader } from '../node/held-body';

const kStandstill = Symbol('waypost.request.standstill');

type Still = IncomingMessage & { [kStandstill]?: Standstill | undefined };

/**
 * Keeps a request's stream from flowing, whoever lets it, until {@link letFlow}: who begins to listen behind a check would
 * otherwise take what is left by then, or nothing, for the whole of what was checked.
 */
export function keepStill(request: Still): void {
  const known = request[kStandstill];
  if (known === undefined) request[kStandstill] = new Standstill(request);
  else known.goOn();
}

/** The same of a stream that flows, or is kept still already. */
export function stopFlow(request: Still): void {
  if (request.readableFlowing === true || request[kStandstill] !== undefined) keepStill(request);
}

/** Lets it flow from the next turn of the event loop on: who has the request now may begin to listen some promises later. */
export function letFlow(request: Still): void {
  request[kStandstill]?.endSoon(() => (request[kStandstill] = undefined));
}

class Standstill {
  readonly #stream: IncomingMessage;
  readonly #before: Pick<PropertyDescriptorMap, 'resume' | 'pause' | 'read'>;
  /** Whether it is to flow, and whether it was to look for its end. */
  #flows = false;
  #looks = false;
  #end: NodeJS.Immediate | undefined = undefined;

  constructor(stream: IncomingMessage) {
    this.#stream = stream;
    const { resume, pause, read } = Object.getOwnPropertyDescriptors(stream) as PropertyDescriptorMap;
    this.#before = { resume, pause, read } as Pick<PropertyDescriptorMap, 'resume' | 'pause' | 'read'>;
    const methods = { pause: stream.pause.bind(stream), read: stream.read.bind(stream) };
    if (stream.readableFlowing === true) {
      stream.pause();
      this.#flow();
    }
    this.#shadow('resume', () => {
      this.#flow();
      return stream;
    });
    this.#shadow('pause', () => {
      this.#flows = false;
      this.#looks = false;
      return methods.pause();
    });
    this.#shadow('read', (size?: number) => {
      // What Node does by itself on the turn after a `resume`: of a stream that has given all it tells the end, paused or not.
      if (size !== 0 || stream.readableLength > 0 || !hasEnd(stream)) return methods.read(size) as unknown;
      this.#looks = true;
      return null;
    });
  }

  #flow(): void {
    this.#flows = true;
    // Or the response, when it has finished, would drop what is to flow.
    noteReader(this.#stream);
  }

  goOn(): void {
    clearImmediate(this.#end);
    this.#end = undefined;
  }

  endSoon(ended: () => void): void {
    this.#end ??= setImmediate(() => {
      ended();
      for (const name of ['resume', 'pause', 'read'] as const) this.#restore(name);
      if (this.#flows) this.#stream.resume();
      if (this.#looks) this.#stream.read(0);
    });
  }

  #shadow(name: 'resume' | 'pause' | 'read', value: unknown): void {
    Object.defineProperty(this.#stream, name, { value, writable: true, configurable: true });
  }

  #restore(name: 'resume' | 'pause' | 'read'): void {
    const before = this.#before[name];
    // Below an own property lies the stream's method.
    if (before === undefined) Reflect.deleteProperty(this.#stream, name);
    else Object.defineProperty(this.#stream, name, before);
  }
}
