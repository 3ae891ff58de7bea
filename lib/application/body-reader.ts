import { giveOwnBody } from '../http/adoption';
import { bodyKind, type ParseOptions } from '../http/body/body';
import { type CaptureOutcome, hasBody, kRawBody, startCapture } from '../http/body/capture';
import { announceClose } from '../http/body/discard';
import { Inflater, tooLarge } from '../http/body/inflate';
import { isUnparsed, RequestBody } from '../http/body/request-body';
import { letFlow } from '../http/body/standstill';
import type { Request } from '../http/request';
import { kBodyLimit, kExpectsContinue } from '../http/request-state';
import type { ResolvedOptions } from '../options/resolved';
import type { Walk } from '../routing/walk';

/** Captures the bodies that the routes of an application can take. */
export class BodyReader {
  readonly #isParsing: boolean;
  readonly #parse: ParseOptions;

  constructor({ parse, ...options }: ResolvedOptions['body']) {
    this.#isParsing = parse;
    this.#parse = { ...options, inflater: new Inflater() };
  }

  /** Resumes the walk: at once, or with the bytes of the body where a route can take the request and its type is one that is parsed. */
  read(walk: Walk): void {
    const { req, res } = walk;
    if (!hasBody(req)) return this.#resumeWithout(walk);
    this.invite(walk);
    const options = this.#optionsFor(req);
    // Not asked of the request: an Express application around may have put its own prototype on.
    announceClose(req, res, options.limit);
    const isWanted = this.#isParsing && !walk.bodyRead && isUnparsed(req)
      && bodyKind(req.headers['content-type']) !== undefined && walk.table.takes(walk.match);
    if (!isWanted) return this.#resumeWithout(walk);
    walk.bodyRead = true;
    // Bound, no closure, as the walk's `next`.
    startCapture(req, options.limit, BodyReader.#captured.bind(undefined, walk, options));
  }

  /** By the limit of a webhook that has signed the body, where that is more. */
  #optionsFor({ [kBodyLimit]: limit }: Request): ParseOptions {
    return limit === undefined || limit <= this.#parse.limit ? this.#parse : { ...this.#parse, limit };
  }

  /** Sends 100 Continue to a client that waits for it. */
  invite({ req, res }: Pick<Walk, 'req' | 'res'>): void {
    if (req[kExpectsContinue]) res.writeContinue();
  }

  #resumeWithout(walk: Walk): void {
    if (this.#isParsing) giveOwnBody(walk.req);
    BodyReader.#resume(walk);
  }

  static #captured(this: void, walk: Walk, options: ParseOptions, req: Request, outcome: CaptureOutcome): void {
    if (outcome === 'aborted') return letFlow(req);
    const raw = req[kRawBody];
    if (outcome === 'complete' && raw !== undefined && raw.length > 0) RequestBody.of(req, raw, options);
    else giveOwnBody(req);
    if (outcome === 'tooLarge') RequestBody.failed(req, options, tooLarge(options.limit));
    BodyReader.#resume(walk);
  }

  static #resume(this: void, walk: Walk): void {
    letFlow(walk.req);
    walk.resume(walk.match);
  }
}
