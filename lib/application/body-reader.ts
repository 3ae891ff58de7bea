import { giveOwnBody } from '../http/adoption';
import { bodyKind, type ParseOptions } from '../http/body/body';
import { type CaptureOutcome, kCaptured, kRawBody, startCapture } from '../http/body/capture';
import { announceClose } from '../http/body/discard';
import { Inflater, tooLarge } from '../http/body/inflate';
import { isUnparsed, kBody, RequestBody } from '../http/body/request-body';
import { letFlow } from '../http/body/standstill';
import type { Request } from '../http/request';
import { kBodyLimit, kExpectsContinue } from '../http/request-state';
import type { Response } from '../http/response';
import type { ResolvedOptions } from '../options/resolved';

/** Captures request bodies for the routes of an application. */
export class BodyReader {
  readonly #isParsing: boolean;
  readonly #parse: ParseOptions;

  constructor({ parse, ...options }: ResolvedOptions['body']) {
    this.#isParsing = parse;
    this.#parse = { ...options, inflater: new Inflater() };
  }

  /**
   * Captures the bytes of a body of a parsed type, then continues; at once if there is nothing to capture.
   * @param hasRoute Returns true if a route can take the request.
   */
  read(req: Request, res: Response, hasRoute: () => boolean, proceed: () => void): void {
    this.sendContinue({ req, res });
    // Not a method of the request, whose prototype an outer Express application may have replaced.
    announceClose(req, res, this.#optionsFor(req).limit);
    this.#capture(req, hasRoute, proceed);
  }

  #capture(req: Request, hasRoute: () => boolean, proceed: () => void): void {
    if (!this.#isParsing || !isUnparsed(req) || bodyKind(req.headers['content-type']) === undefined || !hasRoute()) {
      this.release(req);
      return proceed();
    }
    const options = this.#optionsFor(req);
    // Bound, since V8 would allocate a closure's context for every request.
    startCapture(req, options.limit, BodyReader.#captured.bind(undefined, options, proceed));
  }

  /** Captures, inflates and parses the body, and calls back with an error. A rewrite, or a router called directly, may reach a route uncaptured. */
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

  /** Options with the limit of the webhook that signed the body, if that is higher. */
  #optionsFor({ [kBodyLimit]: limit }: Request): ParseOptions {
    return limit === undefined || limit <= this.#parse.limit ? this.#parse : { ...this.#parse, limit };
  }

  /** Sends 100 Continue to a client that waits for it. */
  sendContinue({ req, res }: { readonly req: Request; readonly res: Response }): void {
    if (req[kExpectsContinue]) res.writeContinue();
  }

  /** Releases a request without a body to capture. */
  release(req: Request): void {
    if (this.#isParsing) giveOwnBody(req);
    letFlow(req);
  }

  static #captured(this: void, options: ParseOptions, proceed: () => void, req: Request, outcome: CaptureOutcome): void {
    if (outcome === 'aborted') return letFlow(req);
    const raw = req[kRawBody];
    if (outcome === 'complete' && raw !== undefined && raw.length > 0) RequestBody.of(req, raw, options);
    else giveOwnBody(req);
    if (outcome === 'tooLarge') RequestBody.failed(req, options, tooLarge(options.limit));
    letFlow(req);
    proceed();
  }
}
