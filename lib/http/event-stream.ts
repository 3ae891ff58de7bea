import { bindContext } from '../async-context';
import { describe, describeKind, LONGEST_DELAY } from '../options/field';
import { clearInterval, setInterval } from '../timers';
import { stringify } from '../xjson/serializer';
import { forgetFraming, forgetLength, isBodiless } from './answer';
import { guardedCall } from './guarded-call';
import { cutOff, flushBuffered } from './own-answer';
import { type ConfiguredResponse, kClosing, settingsOf } from './response-state';
import { Slots } from './slots';
import { isTakenOver } from './taken-over';
import { unsendable } from './unsendable';
import { kXJsonOptions } from './xjson-response';
import type { XJsonOptions } from '../xjson/options';

/** Source of `res.events`: each value is a text, data, or an event. */
export type EventSource = AsyncIterable<unknown> | (Iterable<unknown> & object) | {
  /** Marks a ReadableStream of the web. */
  getReader(): unknown;
};

/** An event with more than its data. An object with `data` and no other members than these is one. */
export interface ServerSentEvent {
  /** Text, or data that is written as by `res.xJson`. */
  data: unknown;
  /** Id, which a client that connects again sends as `Last-Event-ID`. @default none */
  id?: number | string | undefined;
  /** Name that a client listens for. @default none: `message` */
  event?: string | undefined;
  /** Time until a client that has lost the connection connects again, in milliseconds. @default none */
  retry?: number | undefined;
}

/** Options of `res.events`. */
export interface EventOptions {
  /** Interval of the comments by which a quiet connection is kept open, in milliseconds; 0 is never. @default 15000 */
  heartbeat?: number | undefined;
  /** Time until a client that has lost the connection connects again, in milliseconds. @default none: the client's own */
  retry?: number | undefined;
}

/** Most text that waits for a slow client, in UTF-16 units. */
const MOST_WAITING = 1_048_576;

const NAMES: ReadonlySet<string> = new Set(['data', 'id', 'event', 'retry'] satisfies (keyof ServerSentEvent)[]);
const LINE_END = /\r\n|[\r\n]/;
const TAKEN = Promise.resolve();

/** Streams of an application, the outermost, that are to end when it drains. */
const open = new WeakMap<object, Slots<EventStream>>();

interface Emitter {
  readonly parent?: Emitter | undefined;
  readonly [kClosing]?: boolean;
  on?(event: string, listener: () => void): unknown;
}

/** An event stream to one client (`text/event-stream`), as `res.events` returns it. */
export class EventStream {
  /** Id of the last event that the client has got, where it connects again. */
  readonly lastEventId: string | undefined;
  readonly #res: ConfiguredResponse;
  readonly #fail: (error: unknown) => void;
  #isClosed = false;
  #timer: NodeJS.Timeout | undefined;
  /** Resolves when the client can take more; undefined while it can. */
  #drained: Promise<void> | undefined;
  #goOn: () => void = () => undefined;
  #waiting = 0;
  /** Source of the events, until it has ended. */
  #iterator: AsyncIterator<unknown> | undefined;
  #siblings: Slots<EventStream> | undefined;

  /**
   * Sends the head.
   * @param fail Told of an error that no caller can catch.
   * @throws Error with the code ERR_HTTP_HEADERS_SENT where the head is out; TypeError for a wrong option or source.
   */
  constructor(res: ConfiguredResponse, source: EventSource | undefined, { heartbeat = 15_000, retry }: EventOptions, fail: (error: unknown) => void) {
    this.#res = res;
    this.#fail = fail;
    const { 'last-event-id': id } = (res.req as Partial<ConfiguredResponse['req']> | undefined)?.headers ?? {};
    this.lastEventId = id === undefined ? undefined : Buffer.from(id as string, 'latin1').toString();
    if (isTakenOver(res)) {
      this.#isClosed = true;
      // Nobody hears what is wrong with its source.
      guardedCall(() => (source === undefined ? undefined : iteratorOf(source).return?.()), () => undefined);
      return;
    }
    checkTime('heartbeat', heartbeat);
    if (retry !== undefined) checkTime('retry', retry);
    this.#iterator = source === undefined ? undefined : iteratorOf(source);
    if (res.headersSent) {
      this.#letGo();
      throw Object.assign(new Error('res.events cannot answer: a response has been sent already'), { code: 'ERR_HTTP_HEADERS_SENT' });
    }
    res.on('drain', () => this.#drain());
    // In the handler's async context, where the source goes on.
    res.once('close', bindContext(() => {
      this.#end();
      this.#letGo();
    }, 'waypost.events'));
    const app = settingsOf(res).app as Emitter;
    this.#begin(retry, app[kClosing] === true);
    if (res.destroyed) this.#letGo();
    if (this.#isClosed) return;
    if (heartbeat > 0) this.#timer = setInterval(() => this.#beat(), heartbeat).unref();
    this.#siblings = streamsOf(app);
    this.#siblings.add(this);
    if (this.#iterator !== undefined) void this.#feed(this.#iterator);
  }

  #begin(retry: number | undefined, isClosing: boolean): void {
    const res = this.#res;
    res.setHeader('Content-Type', 'text/event-stream');
    if (!res.hasHeader('Cache-Control')) res.setHeader('Cache-Control', 'no-store, no-transform');
    res.setHeader('X-Accel-Buffering', 'no');
    forgetFraming(res);
    forgetLength(res);
    if (isClosing || res.destroyed || isBodiless(res) || res.statusCode === 204 || res.statusCode === 304) return this.close();
    res.flushHeaders();
    if (retry !== undefined) void this.#write(`retry: ${retry}\n\n`);
  }

  /** True once either side has ended the stream; what is sent then is dropped. */
  get closed(): boolean {
    return this.#isClosed;
  }

  /**
   * Sends an event: a text, data, or {@link ServerSentEvent}. Resolves when the client can take more, and when the stream has ended.
   * A line break in `id` or `event`, and data that has no JSON, end the stream; the error goes to error middleware.
   * A client that leaves more than 1 MiB waiting is cut off: await the promise, or leave it to connect again.
   */
  send(event: unknown): Promise<void> {
    if (this.#isClosed) return TAKEN;
    let text: string;
    try {
      text = textOf(event, (this.#res as { readonly [kXJsonOptions]?: XJsonOptions })[kXJsonOptions]);
    } catch (error) {
      this.#fails(error);
      return TAKEN;
    }
    return this.#write(text);
  }

  /** Sends a comment, which clients ignore. Resolves as `send` does. */
  comment(text = ''): Promise<void> {
    return this.#isClosed ? TAKEN : this.#write(`${text.split(LINE_END).map((line) => `: ${line}\n`).join('')}\n`);
  }

  /** Ends the stream. A client connects again unless it is answered by 204 then. */
  close(): void {
    if (this.#isClosed) return;
    this.#end();
    this.#res.end();
  }

  /** Sends nothing to a client that does not read. */
  #beat(): void {
    if (this.#drained === undefined) void this.comment();
  }

  #write(text: string): Promise<void> {
    const res = this.#res;
    const takesMore = res.write(text) as boolean | undefined;
    flushBuffered(res);
    // A replaced `write` may return nothing.
    if (takesMore !== false) return TAKEN;
    if (this.#drained === undefined) {
      this.#waiting = 0;
      this.#drained = new Promise((resolve) => {
        this.#goOn = resolve;
      });
    } else if ((this.#waiting += text.length) > MOST_WAITING) {
      this.#end();
      res.destroy();
    }
    return this.#drained ?? TAKEN;
  }

  #drain(): void {
    this.#drained = undefined;
    this.#goOn();
  }

  #end(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#siblings?.delete(this);
    this.#drain();
  }

  /** Ends the source, if it has not ended. Nobody hears that it fails then. */
  #letGo(): void {
    const iterator = this.#iterator;
    this.#iterator = undefined;
    // A method that is written by hand may return no promise, and throw.
    if (iterator !== undefined) guardedCall(() => iterator.return?.(), () => undefined);
  }

  #fails(error: unknown): void {
    this.#end();
    this.#fail(error);
    // Error middleware leaves alone what has begun.
    cutOff(this.#res);
  }

  async #feed(iterator: AsyncIterator<unknown>): Promise<void> {
    try {
      while (!this.#isClosed) {
        const next = await iterator.next();
        if (next.done === true) {
          this.#iterator = undefined;
          break;
        }
        await this.send(next.value);
      }
      this.close();
    } catch (error) {
      this.#iterator = undefined;
      // A client that went away is nobody's error.
      if (!this.#isClosed) this.#fails(error);
    }
  }
}

/** The open streams of an application. They end when it drains: an open one would hold the server. */
function streamsOf(app: Emitter): Slots<EventStream> {
  let outermost = app;
  while (outermost.parent !== undefined) outermost = outermost.parent;
  let streams = open.get(outermost);
  if (streams === undefined) {
    const kept = streams = new Slots<EventStream>();
    open.set(outermost, kept);
    outermost.on?.('drain', () => [...kept].forEach((each) => each.close()));
  }
  return streams;
}

/** Returns an iterator whose `return` ends the source at once: that of a stream would wait for the next value. */
function iteratorOf(source: EventSource): AsyncIterator<unknown> {
  const { getReader, destroy, [Symbol.asyncIterator]: iterate, [Symbol.iterator]: iterateNow } = Object(source) as Partial<ReadableStream<unknown> & NodeJS.ReadableStream & Iterable<unknown> & { destroy(): unknown }>;
  if (typeof getReader === 'function') {
    const reader = getReader.call(source) as ReadableStreamDefaultReader<unknown>;
    return { next: () => reader.read() as Promise<IteratorResult<unknown>>, return: () => reader.cancel() as Promise<never> };
  }
  if (typeof iterate !== 'function' && typeof iterateNow === 'function' && typeof source === 'object') return valuesOf(source as Iterable<unknown>);
  if (typeof iterate !== 'function') throw new TypeError(`res.events needs an iterable, or nothing, got ${describeKind(source)}`);
  const iterator = iterate.call(source) as AsyncIterator<unknown>;
  return typeof destroy === 'function' ? { next: () => iterator.next(), return: () => destroy.call(source) as never } : iterator;
}

/** The values of an iterable, awaited. */
async function* valuesOf(source: Iterable<unknown>): AsyncGenerator {
  for (const value of source) yield await value;
}

function textOf(event: unknown, options: XJsonOptions | undefined): string {
  if (!isEvent(event)) return dataText(event, options);
  const { id, event: name, data, retry } = event;
  let text = '';
  if (name !== undefined) text += `event: ${line('event', name, ['string'])}\n`;
  if (id !== undefined) text += `id: ${line('id', id, ['string', 'number', 'bigint'])}\n`;
  if (retry !== undefined) {
    checkTime('retry', retry);
    text += `retry: ${retry}\n`;
  }
  return text + dataText(data, options);
}

function isEvent(event: unknown): event is ServerSentEvent {
  return typeof event === 'object' && event !== null && 'data' in event && Object.keys(event).every((name) => NAMES.has(name));
}

/** Returns a field's one line. @throws TypeError for a line break, which would begin another field. */
function line(name: string, value: unknown, kinds: readonly string[]): string {
  const text = kinds.includes(typeof value) ? String(value) : refuse(name, `a ${kinds.join(' or ')}`, describeKind(value));
  return /[\r\n\0]/.test(text) ? refuse(name, 'one line without NUL', describe(text)) : text;
}

function dataText(data: unknown, options: XJsonOptions | undefined): string {
  const unfit = unsendable(data, 'res.events');
  if (unfit !== undefined) throw unfit;
  const text = typeof data === 'string' ? data : stringify(data, options);
  return LINE_END.test(text) ? `${text.split(LINE_END).map((each) => `data: ${each}\n`).join('')}\n` : `data: ${text}\n\n`;
}

function checkTime(name: string, value: unknown): void {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > LONGEST_DELAY) refuse(name, 'a whole number of milliseconds from 0', describe(value));
}

function refuse(name: string, expected: string, got: string): never {
  throw new TypeError(`res.events: ${name} must be ${expected}, got ${got}`);
}
