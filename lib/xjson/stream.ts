import { AsyncResource } from 'node:async_hooks';
import { constants } from 'node:buffer';
import type { ServerResponse } from 'node:http';

import type { Blocks } from './blocks';
import { STREAMING_THRESHOLD, XJSON_DEFAULTS, type XJsonOptions } from './options';
import { isBodiless } from './own-answer';

/**
 * Answers with the bytes as `application/json`: at once, or in chunks if they
 * are many (INTERFACE section 4.3). Goes through the response's own methods, so
 * that middleware which replaced them, such as compression, takes part. Must
 * not be called when the head is out.
 */
export function sendBytes(res: ServerResponse, bytes: Blocks, options: XJsonOptions): void {
  const { length } = bytes;
  if (hasNoContent(res)) {
    bytes.release();
    res.end();
    return;
  }
  res.setHeader('Content-Type', 'application/json');
  // The two must not stand together (RFC 9112 section 6.2). To remove one that is not there would keep Node from sending
  // chunks where compression takes the length away.
  if (res.hasHeader('Transfer-Encoding')) res.removeHeader('Transfer-Encoding');
  res.setHeader('Content-Length', length);
  if (isBodiless(res)) {
    bytes.release();
    res.end();
  } else if (length <= STREAMING_THRESHOLD || ((options.enableStreaming === false) && length <= constants.MAX_LENGTH)) {
    endAtOnce(res, bytes);
  } else {
    new Transfer(res, bytes, options.chunkSize ?? XJSON_DEFAULTS.chunkSize).begin();
  }
}

/**
 * Node sends a string in one write with the head, and a buffer in a second. An
 * `end` that was put on the response gets the buffer: it may overlook the
 * encoding.
 */
function endAtOnce(res: ServerResponse, bytes: Blocks): void {
  const text = Object.hasOwn(res, 'end') ? null : bytes.binary();
  if (text === null) res.end(bytes.whole());
  else res.end(text, 'latin1');
}

/** Takes away what must not stand in a response without content (RFC 9110 sections 8.6, 15.3.5, 15.3.6 and 15.4.5). */
function hasNoContent(res: ServerResponse): boolean {
  const { statusCode } = res;
  if (statusCode !== 204 && statusCode !== 205 && statusCode !== 304) return false;
  res.removeHeader('Content-Type');
  res.removeHeader('Transfer-Encoding');
  if (statusCode === 205) res.setHeader('Content-Length', 0);
  else res.removeHeader('Content-Length');
  return true;
}

/**
 * A large body on its way: a chunk is written when the one before has drained.
 * Waiting for `drain` alone would keep the body for ever when a client goes
 * away, since no drain comes then; so `close` is waited for as well. The socket
 * drains in an async context of its own, or of the response before this one.
 */
class Transfer {
  readonly #res: ServerResponse;
  readonly #chunkSize: number;
  readonly #scope = new AsyncResource('waypost.xJson');
  #bytes: Blocks | null;
  #left: number;

  constructor(res: ServerResponse, bytes: Blocks, chunkSize: number) {
    this.#res = res;
    this.#bytes = bytes;
    this.#left = bytes.length;
    this.#chunkSize = chunkSize;
  }

  begin(): void {
    this.#res.on('close', this.#stop);
    // Before the first write: compression hands on the listeners that it finds then.
    this.#res.on('drain', this.#drained);
    this.#pump();
  }

  readonly #drained = (): void => this.#scope.runInAsyncScope(this.#pump, this);

  #pump(): void {
    const res = this.#res;
    while (this.#bytes !== null) {
      if (res.destroyed || res.writableEnded) return this.#stop();
      const chunk = this.#bytes.take(this.#chunkSize);
      this.#left -= chunk.length;
      if (this.#left === 0) {
        this.#stop();
        res.end(chunk);
      } else if (!res.write(chunk)) {
        return;
      }
    }
  }

  readonly #stop = (): void => {
    this.#bytes = null;
    this.#res.off('close', this.#stop);
    this.#res.off('drain', this.#drained);
  };
}
