import { giveOwnBody } from '../http/adoption';
import { bodyKind, type ParseOptions } from '../http/body/body';
import { type CaptureOutcome, kCaptured, kRawBody, startCapture } from '../http/body/capture';
import { announceClose } from '../http/body/discard';
import { Inflater, tooLarge } from '../http/body/inflate';
import { isUnparsed, kBody, RequestBody } from '../http/body/request-body';
import type { Request } from '../http/request';
import { kBodyLimit, kExpectsContinue } from '../http/request-state';
import type { Response } from '../http/response';
import type { ResolvedOptions } from '../options/resolved';

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
    this.invite({ req, res });
    // Not asked of the request: an Express application around may have put its own prototype on.
    announceClose(req, res, this.#optionsFor(req).limit);
    this.#capture(req, isTaken, goOn);
  }

  #capture(req: Request, isTaken: () => boolean, goOn: () => void): void {
    if (!this.#isParsing || !isUnparsed(req) || bodyKind(req.headers['content-type']) === undefined || !isTaken()) {
      this.pass(req);
      return goOn();
    }
    const options = this.#optionsFor(req);
    // Bound, no closure: one that stands on what it captures costs each request.
    startCapture(req, options.limit, BodyReader.#captured.bind(undefined, options, goOn));
  }

  /** Captures it where a rewrite, or a router that is called by hand, has led to a route; inflates and parses it, and calls back with the error that it came to. */
  prepare(req: Request, res: Response, done: (error: unknown) => void): void {
    const parse = (): void => BodyReader.#parsed(req, done);
    if (req[kBody] !== undefined) parse();
    else if (req[kCaptured] === undefined) this.read(req, res, () => true, parse);
    else this.#capture(req, () => true, parse);
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

  /** Leaves a request as it is: there is nothing to capture. */
  pass(req: Request): void {
    if (this.#isParsing) giveOwnBody(req);
  }

  static #captured(this: void, options: ParseOptions, goOn: () => void, req: Request, outcome: CaptureOutcome): void {
    if (outcome === 'aborted') return;
    const raw = req[kRawBody];
    if (outcome === 'complete' && raw !== undefined && raw.length > 0) RequestBody.of(req, raw, options);
    else giveOwnBody(req);
    if (outcome === 'tooLarge') RequestBody.failed(req, options, tooLarge(options.limit));
    goOn();
  }
}
