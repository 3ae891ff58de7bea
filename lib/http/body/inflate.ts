import { constants } from 'node:buffer';
import type { InputType, ZlibOptions } from 'node:zlib';
import { bindContext } from '../../async-context';
import { HttpError } from '../../errors';
import { zlib } from '../../packages';
import { setImmediate } from '../../timers';

/** Bodies of an application that inflate at once: each holds its bytes twice when it is done, and as many run on Node's threads. */
const MOST_AT_ONCE = 4;
/** How many times its length a body may inflate to: rows of JSON come to some 10 to 170, zeros to 1,000 with gzip and to 50,000 with Brotli. It is Apache's bound too. */
const MOST_TIMES = 200;

interface Inflate {
  later(bytes: InputType, options: ZlibOptions, done: (error: Error | null, bytes: Buffer) => void): void;
  now(bytes: InputType, options: ZlibOptions): Buffer;
}

/** Largest window of zstd, as a power of 2: 8 MiB, which is all that a sender may use (RFC 9659 section 3). */
const LARGEST_WINDOW = 23;

const GZIP: Inflate = { later: (bytes, options, done) => zlib().gunzip(bytes, options, done), now: (bytes, options) => zlib().gunzipSync(bytes, options) };

/** By `Content-Encoding`. By name when they are called, so that what has been put around Node's is called. */
const CODINGS: Readonly<Record<string, Inflate>> = {
  'gzip': GZIP,
  'x-gzip': GZIP,
  'deflate': { later: (bytes, options, done) => zlib().inflate(bytes, options, done), now: (bytes, options) => zlib().inflateSync(bytes, options) },
  'br': { later: (bytes, options, done) => zlib().brotliDecompress(bytes, options, done), now: (bytes, options) => zlib().brotliDecompressSync(bytes, options) },
  'zstd': { later: (bytes, options, done) => zstd().zstdDecompress(bytes, bounded(options), done), now: (bytes, options) => zstd().zstdDecompressSync(bytes, bounded(options)) },
};

/** Members of node:zlib from Node 22.15 on. */
interface Zstd {
  readonly constants: { readonly ZSTD_d_windowLogMax: number };
  zstdDecompress(bytes: InputType, options: object, done: (error: Error | null, bytes: Buffer) => void): void;
  zstdDecompressSync(bytes: InputType, options: object): Buffer;
}

function zstd(): Zstd {
  return zlib() as unknown as Zstd;
}

function bounded(options: ZlibOptions): object {
  return { ...options, params: { [zstd().constants.ZSTD_d_windowLogMax]: LARGEST_WINDOW } };
}

/** A body to inflate. */
export interface Deflated {
  readonly raw: Buffer;
  /** As {@link isInflated} knows it. */
  readonly coding: string;
  /** Most bytes that it may come to. */
  readonly limit: number;
  /** True if nobody waits for the body any more; asked of a waiting one at its turn. */
  isClientGone(): boolean;
  /** Called once; not at all for one whose client has gone. */
  done(error: HttpError | null, bytes: Buffer): void;
}

/** True for a content coding that is inflated. */
export function isInflated(coding: string): boolean {
  return Object.hasOwn(CODINGS, coding) && (coding !== 'zstd' || hasZstd());
}

function hasZstd(): boolean {
  return typeof (zstd() as Partial<Zstd>).zstdDecompress === 'function';
}

/** Value of `Accept-Encoding` in an answer of 415: the codings that are inflated (RFC 9110 section 12.5.3). */
export function acceptedCodings(): string {
  return hasZstd() ? 'gzip, deflate, br, zstd' : 'gzip, deflate, br';
}

/** Inflates a body before it returns, by the same bounds. */
export const AT_ONCE = {
  inflate: (body: Deflated): void => {
    const { raw, coding, limit } = body;
    let error: HttpError | null = null;
    let bytes = raw;
    try {
      bytes = (CODINGS[coding] as Inflate).now(raw, boundsOf(raw, limit));
    } catch (failure) {
      error = inflateError(failure as Error, limit, mostOf(raw));
    }
    body.done(error, bytes);
  },
};

/** Inflates bodies, few at once and in the order in which they came: three thousand of a hundred bytes may stand for gigabytes. */
export class Inflater {
  /** In their order. */
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** Errors are HttpErrors: 413 `BODY_TOO_LARGE` past the limit, or past 200 times the bytes received; 400 `MALFORMED_BODY`. */
  inflate(body: Deflated): void {
    // Another request frees the place, in another async context.
    if (this.#running < MOST_AT_ONCE) this.#start(body);
    else this.#waiting.push(bindContext(() => body.isClientGone() || this.#start(body), 'waypost.inflate'));
  }

  #start(body: Deflated): void {
    this.#running++;
    const { raw, coding, limit } = body;
    const ended = (error: Error | null, bytes: Buffer): void => {
      this.#running--;
      try {
        this.#startNext();
      } finally {
        // Whatever becomes of the next: its client waits.
        body.done(error === null ? null : inflateError(error, limit, mostOf(raw)), bytes);
      }
    };
    try {
      (CODINGS[coding] as Inflate).later(raw, boundsOf(raw, limit), ended);
    } catch (error) {
      // Out of memory: a place that is not given back would be lost for good.
      setImmediate(ended, error as Error, raw);
    }
  }

  /** Those whose clients have gone leave their places to others. */
  #startNext(): void {
    while (this.#running < MOST_AT_ONCE && this.#waiting.length > 0) this.#waiting.shift()?.();
  }
}

/** Most bytes that a body may come to by its length. */
function mostOf(raw: Buffer): number {
  return MOST_TIMES * raw.length;
}

function boundsOf(raw: Buffer, limit: number): ZlibOptions {
  return { maxOutputLength: Math.min(Math.max(limit, 1), mostOf(raw), constants.MAX_LENGTH) };
}

function inflateError(error: Error, limit: number, most: number): HttpError {
  if ((error as NodeJS.ErrnoException | undefined)?.code !== 'ERR_BUFFER_TOO_LARGE') {
    return HttpError.of('MALFORMED_BODY', 'The request body could not be inflated by its content encoding', { cause: error });
  }
  if (limit <= most) return tooLarge(limit);
  // No limit of the options: a parser of the program's own has others.
  return HttpError.of('BODY_TOO_LARGE', `The request body inflates to more than ${MOST_TIMES} times its length`, { limit: most, option: 'body' });
}

/** The error for a body of more bytes than the limit. @param option What sets it. */
export function tooLarge(limit: number, option = 'body.limit'): HttpError {
  return HttpError.of('BODY_TOO_LARGE', undefined, { limit, option });
}
