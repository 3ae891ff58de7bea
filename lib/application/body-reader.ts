import { giveOwnBody } from '../http/adoption';
import { bodyKind, type ParseOptions } from '../http/body/body';
import { type CaptureOutcome, hasBody, kRawBody, startCapture } from '../http/body/capture';
import { announceClose } from '../http/body/discard';
import { Inflater, tooLarge } from '../http/body/inflate';
import { isUnparsed, kBody, RequestBody } from '../http/body/request-body';
import { letFlow } from '../http/body/standstill';
import type { Request } from '../http/request';
import { kBodyLimit, kExpectsContinue } from '../http/request-state';
import type { Response } from '../http/response';
import type { ResolvedOptions } from '../options/resolved';

/** A request's way through the application. */
export interface ReadingRun {
  readonly req: Request;
  readonly res: Response;
  /** Whether a route was found to take it, so that its body was captured, or left to who reads it. */
  isBodyRead: boolean;
}

/** Captures the bodies that the routes of an application can take. */
export class BodyReader {
  readonly #isParsing: boolean;
  readonly #parse: ParseOptions;

  constructor({ parse, ...options }: ResolvedOptions['body']) {
    this.#isParsing = parse;
    this.#parse = { ...options, inflater: new Inflater() };
  }

  /**
   * Captures the bytes of a body whose type is one that is parsed, then goes on; at once where there is nothing to capture.
   * @param isTaken Whether a route can take the request.
   */
  read(req: Request, res: Response, isTaken: () => boolean, goOn: () => void): void {
    if (!hasBody(req)) return this.#goOnWithout(req, goOn);
    this.invite({ req, res });
    const options = this.#optionsFor(req);
    // Not asked of the request: an Express application around may have put its own prototype on.
    announceClose(req, res, options.limit);
    if (!this.#isParsing || !isUnparsed(req) || bodyKind(req.headers['content-type']) === undefined || !isTaken()) return this.#goOnWithout(req, goOn);
    // Bound, no closure: one that stands on what it captures costs each request.
    startCapture(req, options.limit, BodyReader.#captured.bind(undefined, options, goOn));
  }

  /** Captures it where a rewrite, or another framework, has led to a route, and inflates and parses it; calls back with the error that it came to. */
  prepare(run: ReadingRun, done: (error: unknown) => void): void {
    const { req, res } = run;
    if (run.isBodyRead) return BodyReader.#parsed(req, done);
    run.isBodyRead = true;
    this.read(req, res, () => true, () => BodyReader.#parsed(req, done));
  }

  static #parsed(req: Request, done: (error: unknown) => void): void {
    const { [kBody]: body } = req;
    if (body === undefined) done(undefined);
    else if (body.parse(() => done(body.takeError()))) done(body.takeError());
  }

  /** By the limit of a webhook that has signed the body, where that is more. */
  #optionsFor({ [kBodyLimit]: limit }: Request): ParseOptions {
    return limit === undefined || limit <= this.#parse.limit ? this.#parse : { ...this.#parse, limit };
  }

  /** Sends 100 Continue to a client that waits for it. */
  invite({ req, res }: { readonly req: Request; readonly res: Response }): void {
    if (req[kExpectsContinue]) res.writeContinue();
  }

  #goOnWithout(req: Request, goOn: () => void): void {
    if (this.#isParsing) giveOwnBody(req);
    letFlow(req);
    goOn();
  }

  static #captured(this: void, options: ParseOptions, goOn: () => void, req: Request, outcome: CaptureOutcome): void {
    if (outcome === 'aborted') return letFlow(req);
    const raw = req[kRawBody];
    if (outcome === 'complete' && raw !== undefined && raw.length > 0) RequestBody.of(req, raw, options);
    else giveOwnBody(req);
    if (outcome === 'tooLarge') RequestBody.failed(req, options, tooLarge(options.limit));
    letFlow(req);
    goOn();
  }
}
