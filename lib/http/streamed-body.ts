import { pipeline, Readable, Writable } from 'node:stream';
import { types } from 'node:util';
import { bindContext } from '../async-context';
import { describeKind } from '../options/field';
import { forgetFraming, forgetLength, isBodiless } from './answer';
import { BINARY_TYPE } from './media-type';
import { cutOff, flushBuffered, sendCorked } from './own-answer';
import { type ConfiguredResponse, kOwn } from './response-state';
import { isTakenOver } from './taken-over';
import { has } from './unsendable';

/** Source of `res.stream`: a stream of Node's, one of the web's, or an async iterable; of bytes or text. */
export type StreamSource = NodeJS.ReadableStream | AsyncIterable<unknown> | {
  /** Marks a ReadableStream of the web. */
  getReader(): unknown;
};

type Done = (error?: Error | null) => void;

/**
 * A body on its way from a stream to a response. The head goes out with the
 * first bytes, so that an error before them is answered as any other; one after
 * them cuts the response off. One use each.
 */
export class StreamedBody {
  readonly #res: ConfiguredResponse;
  readonly #source: Readable;
  readonly #fail: (error: unknown) => void;
  /** True once the first bytes are written. */
  #begun = false;
  /** True for events, each of which is to come when it happens. */
  #flushes = false;
  /** Bytes that were written. */
  #sent = 0;
  /** Content-Length that was set when the first bytes were written. */
  #promised: number | string | readonly string[] | undefined;
  #isClientGone = false;
  /** Goes on when the response has drained. */
  #waiting: Done | undefined;

  /**
   * @param fail Told of an error that no caller can catch.
   * @throws TypeError for what is no such source, or a stream of the web that somebody reads already.
   */
  constructor(res: ConfiguredResponse, source: StreamSource, fail: (error: unknown) => void) {
    this.#res = res;
    this.#source = readableOf(source);
    this.#fail = fail;
  }

  /** @throws Error with the code ERR_HTTP_HEADERS_SENT where the head is out. */
  start(): void {
    const res = this.#res;
    if (res.headersSent || res.destroyed || isBodiless(res) || res.statusCode === 204 || res.statusCode === 304) {
      this.#sendNone();
      return;
    }
    const sink = new Writable({
      // Whatever the source holds is to be judged here: Node would throw for it out of reach.
      objectMode: true,
      highWaterMark: 2,
      write: (chunk: unknown, encoding, done) => this.#attempt(done, () => this.#write(chunk, encoding, done)),
      final: (done) => this.#attempt(done, () => this.#end(done)),
    });
    // Added once with `on`: a replaced `on` can't take back what `once` adds. In this async context, where the source goes on.
    res.on('drain', bindContext(() => this.#goOn(), 'waypost.stream'));
    // Not by writableFinished: that is set, too, by whoever ends the response when the client has gone.
    let isSent = false;
    res.once('finish', () => { isSent = true; });
    // In this one, too, the source cleans up when the client has gone.
    res.once('close', bindContext(() => {
      this.#isClientGone = !isSent;
      sink.destroy();
    }, 'waypost.stream'));
    pipeline(this.#source, sink, bindContext((error: Error | null | undefined) => this.#settle(error), 'waypost.stream'));
  }

  /** Lets go of a source that nobody is to have. */
  #sendNone(): void {
    const res = this.#res;
    // The request itself would take its connection along, and with that the answer: what is left of it is discarded as of any other.
    if (this.#source !== (res as { req?: unknown }).req) {
      // A file that is not there is found out later, and nobody waits for it.
      this.#source.on('error', () => undefined);
      this.#source.destroy();
    }
    if (res.destroyed || isTakenOver(res)) return;
    this.#prepare();
    res.end();
  }

  /** Has the head say what comes, before the first bytes or the end. */
  #prepare(): void {
    const res = this.#res;
    if (res.headersSent) throw Object.assign(new Error('res.stream cannot answer: a response has been sent already'), { code: 'ERR_HTTP_HEADERS_SENT' });
    if (res.statusCode !== 204 && res.statusCode !== 304 && !res.hasHeader('Content-Type')) res.setHeader('Content-Type', BINARY_TYPE);
    this.#flushes = String(res.getHeader('Content-Type')).startsWith('text/event-stream');
    this.#promised = res.getHeader('Content-Length');
    if (this.#promised !== undefined) forgetFraming(res);
  }

  #write(chunk: unknown, encoding: BufferEncoding, done: Done): void {
    if (typeof chunk !== 'string' && !types.isUint8Array(chunk)) {
      throw new TypeError(`res.stream sends text and bytes, and was given ${describeKind(chunk)} by the stream: for data, write res.xJson`);
    }
    if (!this.#begun) this.#prepare();
    const res = this.#res;
    const sent = this.#sent + (typeof chunk === 'string' ? Buffer.byteLength(chunk, encoding) : chunk.byteLength);
    if (this.#isBound() && sent > Number(this.#promised)) throw this.#mismatch(sent);
    const wants = typeof chunk === 'string' ? res.write(chunk, encoding) : res.write(chunk);
    this.#sent = sent;
    if (this.#flushes) flushBuffered(res);
    if (!this.#begun) this.#checkBegun();
    // A replaced `write` may return nothing.
    if ((wants as boolean | undefined) !== false) return done();
    this.#waiting = done;
    sendCorked(res);
  }

  /** Checks the length once the first write shows if a replaced `write` keeps it. */
  #checkBegun(): void {
    this.#begun = true;
    if (!this.#isBound() || this.#sent <= Number(this.#promised)) return;
    // The bytes wait for the end of this turn, and are not sent.
    this.#res.destroy();
    throw this.#mismatch(this.#sent);
  }

  #end(done: Done): void {
    if (!this.#begun) this.#prepare();
    if ((this.#isBound() || this.#sent === 0) && this.#sent < Number(this.#promised)) throw this.#mismatch(this.#sent);
    sendCorked(this.#res);
    this.#res.end();
    done();
  }

  /**
   * True if exactly the Content-Length must be sent: a body of another length
   * would be taken for the next response, or that for the rest of it. Middleware
   * that replaces `write` may hold bytes back or make others of them, and then
   * changes the length in the head. Node's own check (strictContentLength) has no
   * head yet where the first bytes come, and throws for whoever ends the response
   * when the client has gone.
   */
  #isBound(): boolean {
    const res = this.#res;
    if (this.#promised === undefined) return false;
    return res.headersSent ? res.getHeader('Content-Length') === this.#promised : res.write === res[kOwn].write && res.end === res[kOwn].end;
  }

  #mismatch(sent: number): Error {
    const message = `res.stream had ${sent} bytes to send, and the Content-Length that was set is ${String(this.#promised)}: set that of the source, or none`;
    return Object.assign(new Error(message), { code: 'ERR_HTTP_CONTENT_LENGTH_MISMATCH' });
  }

  #goOn(): void {
    const done = this.#waiting;
    this.#waiting = undefined;
    done?.();
  }

  #attempt(done: Done, act: () => void): void {
    try {
      act();
    } catch (error) {
      done(error as Error);
    }
  }

  #settle(error: Error | null | undefined): void {
    // A client that went away is nobody's error.
    if (!error || this.#isClientGone) return;
    const hasHead = this.#res.headersSent;
    forgetLength(this.#res);
    this.#fail(error);
    // Error middleware that leaves what has begun alone would leave the client waiting.
    if (hasHead) cutOff(this.#res);
  }
}

function readableOf(source: unknown): Readable {
  if (isWriteOnly(source)) throw new TypeError('res.stream needs a stream to read from, and got one that can only be written to');
  if (has(source, 'pipe')) return has(source, 'destroy') ? (source as Readable) : new Readable().wrap(source as NodeJS.ReadableStream);
  // By what Node's own has, not by its class: to ask for that would have Node load it.
  if (has(source, 'getReader')) return Readable.fromWeb(source as Parameters<typeof Readable.fromWeb>[0]);
  if (has(source, Symbol.asyncIterator)) return Readable.from(source as AsyncIterable<unknown>);
  throw new TypeError(`res.stream needs a Readable, a ReadableStream or an asynchronous iterable, got ${describeKind(source)}: other bodies are sent by res.send and res.json`);
}

/** Every stream of Node's has `pipe`, also such as can't be read: it would fail by an event, which ends the process. Those of old that can be read say so. */
function isWriteOnly(source: unknown): boolean {
  return has(source, 'pipe') && has(source, 'write') && !has(source, 'read') && typeof (source as Partial<NodeJS.ReadableStream>).readable !== 'boolean';
}
