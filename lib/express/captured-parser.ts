import { constants } from 'node:buffer';
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { types } from 'node:util';
import { giveOwnBody } from '../http/adoption';
import { type BodyStream, isBeingRead, kCaptured, kRawBody, startCapture } from '../http/body/capture';
import { acceptedCodings, Inflater, isInflated } from '../http/body/inflate';
import { isOwnStream } from '../http/node/buffered-body';
import { kBody, kParsed } from '../http/body/request-body';
import type { Request } from '../http/request';
import { onFinished, typeIs } from '../packages';
import type { Handler, NextFunction } from '../routing/handler';
import type { BodyParserOptions } from './body-parsers';

type ParsedRequest = Omit<BodyStream, 'url'> & Request & { [kParsed]?: { readonly kind: string; readonly baseUrl: string } };

/** Default of body-parser's, in bytes. */
const LIMIT = 102_400;
const UNITS = 'bkmgtp';

/**
 * A parser of body-parser's that leaves the body on the stream: it is captured, and parsed from a copy of it. So `req.rawBody` is there,
 * and who reads the stream gets the same bytes. A second parser of another kind parses them again where it is registered for a path or
 * a route, or names its types: behind `json()`, `raw({ type: 'application/json' })` gives bytes. Any other leaves them, as in Express.
 */
export class CapturedParser {
  readonly #kind: string;
  readonly #parse: Handler;
  readonly #isOfType: (req: IncomingMessage) => unknown;
  readonly #isNamed: boolean;
  readonly #limit: number;
  readonly #inflates: boolean;
  readonly #inflater = new Inflater();

  /** @param make A factory of body-parser's. @param type Type that it parses by default. */
  constructor(kind: string, make: (options: BodyParserOptions) => Handler, given: BodyParserOptions | undefined, defaultType: string) {
    // eslint-disable-next-line @typescript-eslint/unbound-method -- body-parser calls it without its options, too
    const { limit, inflate, type: own, verify } = given ?? {};
    const type = own || defaultType;
    this.#kind = kind;
    this.#isOfType = typeof type === 'function' ? type : (req) => typeIs()(req, type as string[]);
    this.#isNamed = Boolean(own) && typeof type !== 'function' && ![type].flat().some((each) => each.includes('*'));
    this.#limit = bytesOf(limit);
    this.#inflates = inflate !== false;
    const verifyReal: BodyParserOptions['verify'] = typeof verify === 'function' ? (req, res, body, encoding) => verify(req instanceof BodyCopy ? req.request : req, res, body, encoding) : verify;
    // The others as they are given: they may be inherited, or getters of a class.
    this.#parse = make(new Proxy({}, { get: (_, name) => (name === 'type' ? () => true : name === 'verify' ? verifyReal : (given as Record<PropertyKey, unknown> | undefined)?.[name]) }));
  }

  /** The name by which body-parser's middleware is known. */
  get name(): string {
    return this.#parse.name;
  }

  handle(req: ParsedRequest, res: ServerResponse, next: NextFunction): void {
    if (!typeIs().hasBody(req)) return this.#read(req, res, next);
    const isLeft = isLeftByAdapter(req);
    if (req[kParsed] !== undefined ? !this.#parsesAgain(req, req[kParsed]) : !isLeft && onFinished().isFinished(req)) return next();
    if (!this.#isOfType(req)) {
      giveOwnBody(req);
      return next();
    }
    if (isLeft) {
      const bytes = Buffer.from(req.body as string);
      return this.#parseCopy(bytes, { ...req.headers, 'content-length': String(bytes.length) }, req, res, next);
    }
    // An object of the program's that inherits from a request, or has its members.
    if (!isOwnStream(req) || req[kCaptured] === 'consumed') return this.#read(req, res, next);
    // An application with a lower limit has left all on the stream.
    if (req[kCaptured] === 'tooLarge' && !isBeingRead(req)) req[kCaptured] = undefined;
    startCapture(req, this.#captureLimit(req), (_, outcome) => {
      const bytes = req[kRawBody];
      if (outcome === 'complete' && bytes !== undefined) this.#parseCopy(bytes, req.headers, req, res, next);
      else if (outcome === 'aborted') next(abortedError(req));
      else this.#read(req, res, next);
    });
  }

  /** Decides by the places of both: the second of a route is there for that route. */
  #parsesAgain({ route, baseUrl }: ParsedRequest, first: { readonly kind: string; readonly baseUrl: string }): boolean {
    return first.kind !== this.#kind && (this.#isNamed || (route as unknown) !== undefined || first.baseUrl !== baseUrl);
  }

  /** Leaves room for what compressing adds: the limit is that of the inflated body. */
  #captureLimit({ headers }: IncomingMessage): number {
    const limit = 'content-encoding' in headers ? this.#limit * 1.01 + 1024 : this.#limit;
    return Math.floor(Math.min(limit, constants.MAX_LENGTH));
  }

  #read(req: ParsedRequest, res: ServerResponse, next: NextFunction): void {
    this.#parse(req, res as never, next);
  }

  #parseCopy(bytes: Buffer, received: IncomingMessage['headers'], req: ParsedRequest, res: ServerResponse, next: NextFunction): void {
    const { 'content-encoding': coding, ...headers } = received;
    // Within bounds, and a window that body-parser does not know of.
    if (coding?.toLowerCase() !== 'zstd' || !isInflated('zstd') || !this.#inflates) return this.#parseInflated(bytes, received, req, res, next);
    this.#inflater.inflate({
      raw: bytes, coding: 'zstd', limit: this.#limit, isClientGone: () => req.destroyed,
      done: (error, inflated) => (error === null ? this.#parseInflated(inflated, { ...headers, 'content-length': String(inflated.length) }, req, res, next) : next(error)),
    });
  }

  #parseInflated(bytes: Buffer, headers: IncomingMessage['headers'], req: ParsedRequest, res: ServerResponse, next: NextFunction): void {
    const copy = new BodyCopy(req, bytes, headers);
    this.#parse(copy as never, res as never, (error?: unknown) => {
      if (error !== undefined) return next(withAcceptEncoding(error, this.#inflates));
      req[kParsed] = { kind: this.#kind, baseUrl: req.baseUrl };
      req.body = copy.body;
      next();
    });
    copy.flow();
  }
}

/** A request to body-parser, with a captured body for its stream. */
class BodyCopy extends EventEmitter {
  readonly request: IncomingMessage;
  readonly headers: IncomingMessage['headers'];
  body: unknown = undefined;
  readonly #bytes: Buffer;

  constructor(request: IncomingMessage, bytes: Buffer, headers: IncomingMessage['headers']) {
    super();
    this.request = request;
    this.headers = headers;
    this.#bytes = bytes;
  }

  /** Gives the bytes to those who listen by now. */
  flow(): void {
    this.emit('data', this.#bytes);
    this.emit('end');
  }

  pipe(target: NodeJS.WritableStream): unknown {
    return target.end(this.#bytes);
  }

  unpipe(): this {
    return this;
  }

  /** Called to drop the rest; there is none. */
  resume(): this {
    this.emit('end');
    return this;
  }
}

/** True for bytes or text that an adapter has left as the body. */
function isLeftByAdapter(req: ParsedRequest): boolean {
  if (req[kParsed] !== undefined || req[kBody] !== undefined) return false;
  const { body } = req as { body?: unknown };
  return typeof body === 'string' || types.isUint8Array(body);
}

function abortedError(req: IncomingMessage): Error {
  const length = req.headers['content-length'];
  const expected = length === undefined ? null : Number(length);
  return Object.assign(new Error('request aborted'), { name: 'BadRequestError', code: 'ECONNABORTED', type: 'request.aborted', status: 400, statusCode: 400, expose: true, expected, length: expected });
}

/** Has an answer of 415 say which codings are taken (RFC 9110 section 12.5.3). */
function withAcceptEncoding(error: unknown, inflates: boolean): unknown {
  if ((error as { readonly type?: unknown } | null)?.type === 'encoding.unsupported') (error as { headers?: object }).headers = { 'Accept-Encoding': inflates ? acceptedCodings() : 'identity' };
  return error;
}

/** Reads a limit as body-parser does, which refuses what is none. */
function bytesOf(limit: BodyParserOptions['limit']): number {
  if (limit === undefined || (limit as unknown) === null) return LIMIT;
  const [, amount, unit = ''] = /^[-+]?(\d+(?:\.\d+)?) *([kmgtp])?b?$/i.exec(String(limit)) ?? [];
  return typeof limit === 'number' ? limit : Math.floor(Number(amount ?? Number.parseInt(limit, 10)) * 1024 ** Math.max(UNITS.indexOf(unit.toLowerCase()), 0));
}
