import type { IncomingMessage } from 'node:http';
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
  readonly #before: Pick<PropertyDescriptorMap, 'resume' | 'pause'>;
  /** What was asked for last; undefined for nothing. */
  #wish: 'resume' | 'pause' | undefined = undefined;
  #end: NodeJS.Immediate | undefined = undefined;

  constructor(stream: IncomingMessage) {
    this.#stream = stream;
    const { resume, pause } = Object.getOwnPropertyDescriptors(stream) as PropertyDescriptorMap;
    this.#before = { resume, pause } as Pick<PropertyDescriptorMap, 'resume' | 'pause'>;
    if (stream.readableFlowing === true) {
      stream.pause();
      this.#note('resume');
    }
    for (const name of ['resume', 'pause'] as const) {
      const note = (): IncomingMessage => {
        this.#note(name);
        return stream;
      };
      Object.defineProperty(stream, name, { value: note, writable: true, configurable: true });
    }
  }

  #note(wish: 'resume' | 'pause'): void {
    this.#wish = wish;
    // Or the response, when it has finished, would drop what is to flow.
    if (wish === 'resume') noteReader(this.#stream);
  }

  goOn(): void {
    clearImmediate(this.#end);
    this.#end = undefined;
  }

  endSoon(ended: () => void): void {
    this.#end ??= setImmediate(() => {
      ended();
      this.#restore('resume');
      this.#restore('pause');
      if (this.#wish !== undefined) this.#stream[this.#wish]();
    });
  }

  #restore(name: 'resume' | 'pause'): void {
    const before = this.#before[name];
    // Below an own property lies the stream's method.
    if (before === undefined) Reflect.deleteProperty(this.#stream, name);
    else Object.defineProperty(this.#stream, name, before);
  }
}
