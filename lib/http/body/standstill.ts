import { AsyncResource } from 'node:async_hooks';
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

const SHADOWED = ['resume', 'pause', 'read'] as const;
type Shadowed = (typeof SHADOWED)[number];
type Before = { readonly [name in Shadowed]?: PropertyDescriptor };

class Standstill {
  readonly #stream: IncomingMessage;
  /** What stood there before; none for the stream's own method. */
  readonly #before: Before;
  readonly #shadows: Pick<IncomingMessage, Shadowed>;
  /** Whether it is to flow, and whether it was to look for its end. */
  #flows = false;
  #looks = false;
  /** Of who has let it flow, or looks for its end: he hears of it in his own async context. */
  #reader: AsyncResource | undefined = undefined;
  #end: NodeJS.Immediate | undefined = undefined;
  #isOver = false;

  constructor(stream: IncomingMessage) {
    this.#stream = stream;
    this.#before = Object.getOwnPropertyDescriptors(stream);
    this.#shadows = this.#shadow(stream, { resume: stream.resume.bind(stream), pause: stream.pause.bind(stream), read: stream.read.bind(stream) });
    const flows = stream.readableFlowing === true;
    try {
      if (flows) stream.pause();
      for (const name of SHADOWED) Object.defineProperty(stream, name, { value: this.#shadows[name], writable: true, configurable: true });
    } catch (error) {
      // A program's own, that can't be defined anew, or that throws.
      for (const name of SHADOWED) this.#restore(name);
      throw error;
    }
    if (flows) this.#flow();
  }

  /** A program may keep them, or put its own around them: when the standstill is over they are what they stand for. */
  #shadow(stream: IncomingMessage, methods: Pick<IncomingMessage, Shadowed>): Pick<IncomingMessage, Shadowed> {
    return {
      resume: () => {
        if (this.#isOver) return methods.resume();
        this.#flow();
        return stream;
      },
      pause: () => {
        this.#flows = false;
        this.#looks = false;
        return methods.pause();
      },
      read: (size?: number): unknown => {
        // What Node does by itself on the turn after a `resume`: of a stream that has given all it tells the end, paused or not.
        if (this.#isOver || size !== 0 || stream.readableLength > 0 || !hasEnd(stream)) return methods.read(size) as unknown;
        this.#looks = true;
        this.#reader = new AsyncResource('waypost.body');
        return null;
      },
    };
  }

  #flow(): void {
    this.#flows = true;
    this.#reader = new AsyncResource('waypost.body');
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
      this.#isOver = true;
      for (const name of SHADOWED) this.#restore(name);
      this.#reader?.runInAsyncScope(() => {
        if (this.#flows) this.#stream.resume();
        if (this.#looks) this.#stream.read(0);
      });
    });
  }

  #restore(name: Shadowed): void {
    // What a program has put there meanwhile is its own: it may count, or limit, what is read.
    if (Object.getOwnPropertyDescriptor(this.#stream, name)?.value !== this.#shadows[name]) return;
    const before = this.#before[name];
    // Below an own property lies the stream's method.
    if (before === undefined) Reflect.deleteProperty(this.#stream, name);
    else Object.defineProperty(this.#stream, name, before);
  }
}
