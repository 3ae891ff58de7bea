import type { Duplex } from 'node:stream';
import { HttpError, errorBody } from '../errors';
import { answerJson } from '../http/answer';
import { hasBody } from '../http/capture';
import type { Request } from '../http/request';
import { kOriginalMethod, kOriginalUrl } from '../http/request';
import type { Response } from '../http/response';
import type { Logger } from '../logger';
import type { SignatureScope } from './scope';
import { checkBody, checkDigest, checkHeaders, failureBody, type Rejection, type SignatureConfig, type SignedRequest } from './verify';

/**
 * The check of request signatures (INTERFACE section 5), ahead of middleware,
 * body parsing and handlers. It answers what it refuses itself.
 */
export class SignatureHook {
  readonly #config: SignatureConfig;
  readonly #scope: SignatureScope;
  readonly #logger: Logger;
  readonly #signatureName: string;
  readonly #timestampName: string;
  /** RFC 9110 section 11.6.1: a 401 names the scheme that would be accepted. */
  readonly #challenge: string;

  constructor(config: SignatureConfig, scope: SignatureScope, logger: Logger) {
    this.#config = config;
    this.#scope = scope;
    this.#logger = logger;
    this.#signatureName = config.headerName.toLowerCase();
    this.#timestampName = config.timestampHeaderName.toLowerCase();
    this.#challenge = `Signature header="${config.headerName}", algorithm="hmac-${config.algorithm}"`;
  }

  /** Whether the body is part of what is signed, so that its bytes are needed. */
  get readsBody(): boolean {
    return this.#config.includeBody;
  }

  /** Whether a request to that path must be signed. */
  requires(method: string, path: string): boolean {
    return this.#scope.requires(method, path);
  }

  /** Checks what can be told before a byte of the body is read; answers 401 and returns false when it refuses. */
  admits(req: Request, res: Response): boolean {
    return this.#passes(this.#judgeHeaders(req), req, res);
  }

  /** Checks the signature over the bytes as received; answers 401 and returns false when it refuses. */
  verifies(req: Request, res: Response, body: Buffer | undefined): boolean {
    if (!this.#passes(this.#judgeBytes(req, body), req, res)) return false;
    if (this.#config.debug) this.#logger.info({ method: req[kOriginalMethod], url: req[kOriginalUrl] }, 'The request signature was accepted');
    return true;
  }

  /** Checks a request to switch protocols, which has no response: answers 401 on the socket and returns false when it refuses. */
  admitsUpgrade(req: Request, socket: Duplex): boolean {
    // Node hands what follows the headers to the listener unread, so a body could not be checked.
    const unread: Rejection | null = this.#config.includeBody && hasBody(req)
      ? { failure: 'invalid', reason: 'a request to upgrade has a body' }
      : null;
    const rejection = this.#judgeHeaders(req) ?? unread ?? this.#judgeBytes(req, undefined);
    if (rejection === null) return true;
    this.#debug(req, rejection.reason);
    const body = JSON.stringify(failureBody(rejection.failure, this.#config));
    socket.end([
      'HTTP/1.1 401 Unauthorized', 'Connection: close', 'Content-Type: application/json; charset=utf-8',
      `WWW-Authenticate: ${this.#challenge}`, `Content-Length: ${Buffer.byteLength(body)}`, '', body,
    ].join('\r\n'));
    return false;
  }

  #judgeHeaders(req: Request): Rejection | null {
    return checkHeaders(this.#signed(req), this.#config, Date.now());
  }

  #judgeBytes(req: Request, body: Buffer | undefined): Rejection | null {
    const signed = this.#signed(req);
    return checkBody(signed, body, this.#config) ?? checkDigest(signed, body, this.#config);
  }

  /** Answers 413: a body that is too large to be checked is not let through. */
  refuseSize(req: Request, res: Response): void {
    this.#debug(req, 'the body is larger than body.limit');
    res.shouldKeepAlive = false;
    answerJson(res, 413, errorBody(HttpError.of('BODY_TOO_LARGE'), 413, false));
  }

  /** Answers 401: bytes that someone else has read can't be checked. */
  refuseConsumed(req: Request, res: Response): void {
    this.#passes({ failure: 'invalid', reason: 'the body was read before it could be checked' }, req, res);
  }

  #signed(req: Request): SignedRequest {
    const { headers } = req;
    return {
      method: req[kOriginalMethod] ?? req.method,
      target: req[kOriginalUrl] ?? req.url,
      signature: headers[this.#signatureName] as string | undefined,
      timestamp: headers[this.#timestampName] as string | undefined,
    };
  }

  #passes(rejection: Rejection | null, req: Request, res: Response): boolean {
    if (rejection === null) return true;
    this.#debug(req, rejection.reason);
    res.setHeader('WWW-Authenticate', this.#challenge);
    answerJson(res, 401, failureBody(rejection.failure, this.#config));
    return false;
  }

  #debug(req: Request, reason: string): void {
    if (!this.#config.debug) return;
    // At info: who turns `debug` on wants to see it without a change of the log's level.
    this.#logger.info({ method: req[kOriginalMethod], url: req[kOriginalUrl], reason }, 'The request signature was refused');
  }
}
