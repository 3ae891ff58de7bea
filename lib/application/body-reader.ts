import { statusOf } from '../errors';
import { bodyKind, parseBody, type ParseOptions } from '../http/body/body';
import { type CaptureOutcome, hasBody, isBeingRead, kRawBody, startCapture } from '../http/body/capture';
import { announceClose } from '../http/body/discard';
import { Inflater, tooLarge } from '../http/body/inflate';
import { letFlow } from '../http/body/standstill';
import { closeBehind } from '../http/connection';
import type { Request } from '../http/request';
import { kExpectsContinue } from '../http/request-state';
import type { ResolvedOptions } from '../options/resolved';
import type { Walk } from '../routing/walk';

/** Captures and parses the bodies that the routes of an application can take. */
export class BodyReader {
  readonly #isParsing: boolean;
  readonly #parse: ParseOptions;

  constructor({ parse, limit, bigint }: ResolvedOptions['body']) {
    this.#isParsing = parse;
    this.#parse = { limit, bigint, inflater: new Inflater() };
  }

  /** Resumes the walk: at once, or with `req.body` where a route can take the request and its type is one that is parsed. */
  read(walk: Walk): void {
    const { req, res } = walk;
    if (!hasBody(req)) return walk.resume(walk.match);
    this.invite(walk);
    // Not asked of the request: an Express application around may have put its own prototype on.
    announceClose(req, res, this.#parse.limit);
    const isWanted = this.#isParsing && !walk.bodyRead && isUnparsed(req)
      && bodyKind(req.headers['content-type']) !== undefined && walk.table.takes(walk.match);
    if (!isWanted) return BodyReader.#resume(walk);
    walk.bodyRead = true;
    // Bound, no closure, as the walk's `next`.
    startCapture(req, this.#parse.limit, BodyReader.#captured.bind(undefined, this, walk));
  }

  /** Sends 100 Continue to a client that waits for it. */
  invite({ req, res }: Pick<Walk, 'req' | 'res'>): void {
    if (req[kExpectsContinue]) res.writeContinue();
  }

  /** The error of a body that could not be parsed; undefined where something else has read the body meanwhile. */
  obstacle(walk: Walk): unknown {
    const error = walk.bodyError;
    if (error === undefined) return undefined;
    walk.bodyError = undefined;
    const { req, res } = walk;
    if (isTaken(req)) return undefined;
    // What is left of a body that is too large would have to be read off the wire before the next request.
    if (statusOf(error) === 413 && !req.complete) closeBehind(req, res);
    return error;
  }

  static #captured(this: void, reader: BodyReader, walk: Walk, req: Request, outcome: CaptureOutcome): void {
    if (outcome === 'aborted') return letFlow(req);
    if (outcome === 'tooLarge') walk.bodyError = tooLarge(reader.#parse.limit);
    const raw = req[kRawBody];
    if (outcome !== 'complete' || raw === undefined || raw.length === 0) return BodyReader.#resume(walk);
    parseBody(raw, req, reader.#parse, (error, value) => {
      walk.bodyError = error ?? giveBody(req, value);
      if (walk.bodyError === undefined && walk.watch !== null) walk.watch.request.parsed(raw.length);
      BodyReader.#resume(walk);
    });
  }

  static #resume(this: void, walk: Walk): void {
    letFlow(walk.req);
    walk.resume(walk.match);
  }
}

/** Returns why it can't be given, where a program lets nobody write it: the parser calls, where a throw would end the process. */
function giveBody(req: Request, value: unknown): unknown {
  try {
    req.body = value;
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Whether there is no body yet, or the bytes that an adapter, such as one of AWS Lambda, has put there beside the stream. */
function isUnparsed(req: Walk['req']): boolean {
  const { body } = req as { body?: unknown };
  return body === undefined || (body instanceof Uint8Array && !isBeingRead(req));
}

/** Whether something else has read the body, or put one in its place: perhaps one that is made, and fails, when it is asked for. */
function isTaken(req: Walk['req']): boolean {
  try {
    return !isUnparsed(req) || isBeingRead(req);
  } catch {
    return true;
  }
}
