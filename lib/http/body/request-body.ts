import { statusOf } from '../../errors';
import { late } from '../../packages';
import { tracing } from '../../tracing/tracing';
import { assign } from '../assignable';
import { closeAfter } from '../connection';
import type { Request } from '../request';
import { watches } from '../request-state';
import type { ParseOptions } from './body';
import { isBeingRead } from './capture';
import { AT_ONCE } from './inflate';

const parsing = late(() => require('./body') as typeof import('./body'));

/** The body of a request that a route can take; undefined before its capture has ended, and once something else has been assigned. */
export const kBody = Symbol('waypost.request.body');

/** Set on a request whose captured body a parser of the program's has parsed: which kind, and where. */
export const kParsed = Symbol('waypost.request.parsed');

type Bodied = Request & { [kBody]?: RequestBody | undefined; [kParsed]?: object | undefined };

/** `req.body` while nobody has asked for it or assigned another: own, since programs pick, spread and look for it. */
const UNREAD: PropertyDescriptor & ThisType<Bodied> = {
  get() {
    return this[kBody]?.value;
  },
  set(value: unknown) {
    this[kBody] = undefined;
    assign(this, 'body', value);
  },
  enumerable: true,
  configurable: true,
};

/** A captured body. Its bytes are inflated and parsed for the first handler of a route, or when `req.body` is read before. */
export class RequestBody {
  readonly #request: Bodied;
  readonly #options: ParseOptions;
  /** Undefined once they are parsed. */
  #raw: Buffer | undefined;
  #value: unknown = undefined;
  #error: unknown;

  /**
   * @param raw The bytes; undefined where they could not be captured.
   * @param error Why not.
   */
  private constructor(request: Bodied, options: ParseOptions, raw: Buffer | undefined, error: unknown) {
    this.#request = request;
    this.#options = options;
    this.#raw = raw;
    this.#error = error;
    request[kBody] = this;
  }

  /** Has `req.body` hold what the bytes come to, as soon as somebody asks. */
  static of(request: Request, raw: Buffer, options: ParseOptions): void {
    new RequestBody(request, options, raw, undefined);
    // Half the work of Object.defineProperty on Node 26.
    Reflect.defineProperty(request, 'body', UNREAD);
  }

  /** Has an error raised instead of calling a route's first handler. */
  static failed(request: Request, options: ParseOptions, error: unknown): void {
    new RequestBody(request, options, undefined, error);
  }

  /** Parsed body; parses, and inflates, on this turn if nobody has asked before. */
  get value(): unknown {
    if (this.#raw !== undefined) parsing().parseBody(this.#raw, this.#request, { ...this.#options, inflater: AT_ONCE }, (error, value) => this.#settle(error, value));
    return this.#value;
  }

  /** Replaces the value: to redefine the request's property would make every later look at the request slow. */
  replace(value: unknown): void {
    this.#raw = undefined;
    this.#value = value;
  }

  /**
   * To be called before a handler of a route is. Returns whether the body is parsed; if not, calls `goOn` when it is, and never where the
   * client has left while it waited.
   */
  parse(goOn: () => void): boolean {
    if (this.#raw === undefined) return true;
    let isLater = false;
    parsing().parseBody(this.#raw, this.#request, this.#options, (error, value) => {
      this.#settle(error, value);
      if (isLater) goOn();
    });
    isLater = this.#raw !== undefined;
    return !isLater;
  }

  /** The first to come counts: `req.body` may be read while its bytes are inflated. */
  #settle(error: unknown, value: unknown): void {
    if (this.#raw === undefined) return;
    const { length } = this.#raw;
    this.#raw = undefined;
    this.#value = value;
    this.#error = error ?? undefined;
    const request = this.#request;
    // Followers of a request are settled when it begins.
    if (this.#error === undefined && watches.has(request) && tracing.body.hasSubscribers) tracing.body.publish({ request, response: request.res, bytes: length });
  }

  /** Returns the error to raise instead of calling a route's handler, once. Undefined if something else has read the body, or assigned one. */
  takeError(): unknown {
    const error = this.#error;
    if (error === undefined) return undefined;
    this.#error = undefined;
    const request = this.#request;
    if (isTaken(request)) return undefined;
    // The rest of a too large body would precede the next request on the wire.
    if (statusOf(error) === 413 && !request.complete && request.res !== undefined) closeAfter(request, request.res);
    return error;
  }
}

/** True if there is no body yet, or only an adapter's bytes. Adapters, such as one of AWS Lambda, put them there beside the stream. */
export function isUnparsed(req: Bodied): boolean {
  if (req[kBody] !== undefined || req[kParsed] !== undefined) return false;
  const { body } = req as { body?: unknown };
  return body === undefined || (body instanceof Uint8Array && !isBeingRead(req));
}

/** True if something else has read the body, or assigned one. */
function isTaken(req: Bodied): boolean {
  const { body } = req as { body?: unknown };
  return req[kParsed] !== undefined || isBeingRead(req) || !(body === undefined || body instanceof Uint8Array);
}
