import { giveOwnBody } from '../http/adoption';
import type { ParseOptions } from '../http/body/body';
import { type CaptureOutcome, kCaptured, kRawBody, startCapture } from '../http/body/capture';
import { announceClose } from '../http/body/discard';
import { Inflater, tooLarge } from '../http/body/inflate';
import { isUnparsed, kBody, RequestBody } from '../http/body/request-body';
import type { Request } from '../http/request';
import { kBodyLimit, kDefers, kExpectsContinue } from '../http/request-state';
import type { Response } from '../http/response';
import type { ResolvedOptions } from '../options/resolved';
import { late } from '../packages';
import type { Contract } from '../schema/contracted';

const parsing = late(() => require('../http/body/body') as typeof import('../http/body/body'));

/** A route's own rules for its bodies. */
type BodyRules = Partial<Pick<Contract, 'body' | 'bodyLimit'>>;

const NO_RULES: BodyRules = Object.freeze({});

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
   * @param rulesFor Returns the rules of the route that takes the request; null for none.
   */
  read(req: Request, res: Response, rulesFor: () => BodyRules | null, proceed: () => void): void {
    this.sendContinue({ req, res });
    // Not a method of the request, whose prototype an outer Express application may have replaced.
    announceClose(req, res, this.#optionsFor(req).limit);
    this.#capture(req, rulesFor, proceed);
  }

  #capture(req: Request, rulesFor: () => BodyRules | null, proceed: () => void): void {
    const rules = !this.#isParsing || !isUnparsed(req) || parsing().bodyKind(req.headers['content-type']) === undefined ? null : rulesFor();
    if (rules === null || rules.body === false) {
      this.release(req);
      return proceed();
    }
    const options = this.#optionsFor(req, rules.bodyLimit);
    // Bound, since V8 would allocate a closure's context for every request.
    startCapture(req, options.limit, BodyReader.#captured.bind(undefined, options, proceed));
  }

  /** Captures, inflates and parses the body, and calls back with an error. A rewrite, or a router called directly, may reach a route uncaptured. */
  prepare(req: Request, res: Response, rules: BodyRules = NO_RULES, done: (error: unknown) => void): void {
    const parse = (): void => BodyReader.#parsed(req, done);
    if (req[kBody] !== undefined) parse();
    else if (req[kCaptured] === undefined) this.read(req, res, () => rules, parse);
    else this.#capture(req, () => rules, parse);
  }

  static #parsed(req: Request, done: (error: unknown) => void): void {
    const { [kBody]: body } = req;
    if (body === undefined) done(undefined);
    else if (body.parse(() => done(body.takeError()))) done(body.takeError());
  }

  /** Options with the limit of the route, else the higher one of a webhook. */
  #optionsFor({ [kBodyLimit]: signed }: Request, own?: number): ParseOptions {
    const limit = own ?? Math.max(this.#parse.limit, signed ?? 0);
    return limit === this.#parse.limit ? this.#parse : { ...this.#parse, limit };
  }

  /** Sends 100 Continue to a client that waits for it. */
  sendContinue({ req, res }: { readonly req: Request; readonly res: Response }): void {
    if (req[kExpectsContinue]) res.writeContinue();
  }

  /** Releases a request without a body to capture. */
  release(req: Request): void {
    if (this.#isParsing) giveOwnBody(req);
  }

  static #captured(this: void, options: ParseOptions, proceed: () => void, req: Request, outcome: CaptureOutcome): void {
    if (outcome === 'aborted') return;
    const raw = req[kRawBody];
    if (outcome === 'complete' && raw !== undefined && raw.length > 0) RequestBody.of(req, raw, options);
    else giveOwnBody(req);
    if (outcome === 'tooLarge') {
      RequestBody.failed(req, options, tooLarge(options.limit));
      // Refused at once, while it shows whether there is a rest on the wire.
      req[kDefers] = false;
    }
    proceed();
  }
}
