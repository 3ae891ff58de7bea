import type { IncomingMessage } from 'node:http';
import { asFailure, errorBody, headersOf, statusOf, statusText } from '../errors';
import { pathOf } from '../target';
import { isFresh } from './etag';
import { type LoggedRequest, loggedRequest } from './logged-request';
import { fieldsOf } from './node/header-fields';
import { hintForCall } from './foreign-call';
import { JSON_TYPE } from './media-type';
import { type ErrorWatch, kOriginalMethod, kOriginalUrl, kWatch } from './request-state';
import { refusedBody } from './refused-body';
import { type AnswerField, cutOff, isBodiless, sendOwn } from './own-answer';
import { type ConfiguredResponse, kAnswering, kFail, kLatin1, kOwn, kSettings, type ResponseSettings } from './response-state';
import { type FailureReport, sendFailure } from './serialization-failure';

/**
 * Longest text, in UTF-16 units, that Node is given as text. It takes three
 * bytes of memory for each unit while it writes; a megabyte costs twice the
 * time of making the bytes first.
 */
const LONGEST_TEXT = 65_536;

/** What reports that a response was written to behind its end. */
const kLateWrite = Symbol('waypost.response.lateWrite');

/** What the answer to a request that nothing has taken speaks of. */
interface Received {
  readonly method: string;
  /** A string, unless a program has put something else there. */
  readonly originalUrl: unknown;
  readonly [kOriginalUrl]?: string | undefined;
}

/** Fields of an error's own that would belie the default answer. */
const UNFIT = new Set(['content-encoding', 'content-length', 'content-type', 'transfer-encoding', 'trailer']);
const NO_FIELDS: readonly AnswerField[] = [];

/**
 * Ends a response with a whole body: type, length, ETag and 304 where they
 * apply, and no body where RFC 9110 has none. It calls the response's own
 * `setHeader` and `end`, so that middleware which replaced them sees it all.
 */
export function finish<R extends ConfiguredResponse>(res: R, body: string | Buffer | undefined, type: string | undefined): R {
  // Text goes out in one piece with the head, both as UTF-8: as bytes the head is Latin-1, which its fields are read as.
  if (typeof body === 'string' && (body.length > LONGEST_TEXT || res[kLatin1])) body = Buffer.from(body);
  const fields = fieldsOf(res);
  const { etag } = res[kSettings];
  const tagged = fields !== null && 'etag' in fields;
  let validator = tagged || (fields !== null && 'last-modified' in fields);
  const framed = fields !== null && 'transfer-encoding' in fields;
  if (type !== undefined) res.setHeader('Content-Type', type);
  if (body !== undefined) {
    // The two must not stand together (RFC 9112 section 6.2).
    if (!framed) {
      // Text, as Express has it: middleware reads it, and some of it logs it.
      res.setHeader('Content-Length', String(typeof body === 'string' ? Buffer.byteLength(body) : body.length));
    }
    if (etag !== undefined && !tagged) {
      const tag = etag(body);
      if (tag) res.setHeader('ETag', tag);
      validator ||= Boolean(tag);
    }
  }
  if (validator && isStillGood(res)) res.statusCode = 304;
  const status = res.statusCode;
  if (status === 204 || status === 205 || status === 304) {
    stripBody(res, status);
    body = '';
  }
  endWith(res, body);
  return res;
}

/** As in Express the request is asked, whose `fresh` a program may have replaced; one without its request, or of another class, has none. */
function isStillGood(res: ConfiguredResponse): boolean {
  const { req } = res as { req?: { res?: unknown; fresh?: boolean } };
  return (req?.res === res ? req.fresh : undefined) ?? isFresh(res);
}

/** Ends a response with the body, or without it where the request is HEAD. */
export function endWith(res: ConfiguredResponse, body: string | Buffer | undefined): void {
  if (body === undefined || isBodiless(res)) res.end();
  // As Express gives it: loggers that put themselves in the place of `end` join what they hear as buffers.
  else if (typeof body === 'string' && body !== '' && res.end !== res[kOwn].end) res.end(Buffer.from(body));
  else res.end(body, 'utf8');
}

function stripBody(res: ConfiguredResponse, status: number): void {
  res.removeHeader('Transfer-Encoding');
  if (status === 205) {
    // RFC 9110 section 15.3.6: there is no content, and it must be said.
    res.setHeader('Content-Length', '0');
    return;
  }
  res.removeHeader('Content-Type');
  res.removeHeader('Content-Length');
}

/** Answers for data that could not be written as JSON (INTERFACE section 7.2), whatever was set before; in an Express program, its error middleware does. */
export function refuse<R extends ConfiguredResponse & { [kFail](error: unknown): void }>(res: R, error: unknown): R {
  if (res[kSettings].asExpress === true) res[kFail](error);
  else sendFailure(res, error, new SerializationReport(res));
  return res;
}

/**
 * Answers for an error that nothing else answers, with the body of every such
 * error: `error` and `message`. The status is the error's own, which may bring
 * headers too, else that of the response if it says that something failed,
 * else 500. A response that `xJson` is still making is its own, and the error
 * is only logged.
 */
export function answerError(res: ConfiguredResponse, error: unknown): void {
  const { development } = res[kSettings];
  const own = statusOf(error);
  const status = own ?? asFailure(res.statusCode) ?? 500;
  if (own === undefined || own >= 500 || res.headersSent || res[kAnswering]) logFailure(res, error);
  else logRefusal(res, error);
  if (res[kAnswering]) return;
  if (res.headersSent) {
    cutOff(res);
    return;
  }
  const fields = own === undefined ? NO_FIELDS : headersOf(error, development).filter(([name]) => !UNFIT.has(name.toLowerCase()));
  answerJson(res, status, errorBody(error, status, development), fields);
}

/**
 * The framework's own answer in place of a handler's: nothing that middleware
 * said of the body it did not send stands, nor does a `json` it replaced.
 * @param body Undefined for a status without content.
 */
export function answerJson(res: ConfiguredResponse, status: number, body: object | undefined, fields = NO_FIELDS): void {
  sendOwn(res, { status, body: body && JSON.stringify(body), type: JSON_TYPE, isHead: isHead(res), fields }, logFailure);
}

/**
 * Answers what nothing has taken: 404, or 405 where the path has routes of
 * other methods only, and an OPTIONS request with what those are (RFC 9110
 * sections 9.3.7 and 15.5.6).
 * @param methods Methods of the routes that match the path; null where they are not to be told.
 */
export function answerUnmatched(received: Received, res: ConfiguredResponse, methods: Iterable<string> | null): void {
  const { method, originalUrl } = received;
  const url = typeof originalUrl === 'string' ? originalUrl : received[kOriginalUrl] ?? '';
  const allowed = methods === null ? [] : [...methods].sort();
  // A route of the method itself has declined the request: then nothing is wrong with the method.
  if (allowed.length === 0 || allowed.includes(method)) {
    answerRefusal(res, 404, method, url, NO_FIELDS);
    return;
  }
  if (!allowed.includes('OPTIONS')) allowed.push('OPTIONS');
  const fields: AnswerField[] = [['Allow', allowed.join(', ')]];
  if (method === 'OPTIONS') answerJson(res, 204, undefined, fields);
  else answerRefusal(res, 405, method, url, fields);
}

function answerRefusal(res: ConfiguredResponse, status: number, method: string, url: string, fields: readonly AnswerField[]): void {
  answerJson(res, status, { error: statusText(status), message: `Cannot ${method} ${pathOf(url)}` }, fields);
}

function logFailure(res: ConfiguredResponse, error: unknown): void {
  const hint = hintForCall(error);
  res[kSettings].logger.error({ err: error, ...requestOf(res), ...(hint === undefined ? {} : { hint }) }, 'The response failed');
}

/** What a client is at fault for goes unlogged, but for what an option of the program's decides. */
function logRefusal(res: ConfiguredResponse, error: unknown): void {
  const refused = refusedBody(error, (res as Partial<ConfiguredResponse>).req);
  if (refused !== undefined) res[kSettings].logger.info(refused, 'The request body was refused');
}

/** Whether the client asked by HEAD: middleware may have changed the method since. */
function isHead(res: ConfiguredResponse): boolean {
  const { req } = res as { req?: IncomingMessage & { [kOriginalMethod]?: string | undefined } };
  return (req?.[kOriginalMethod] ?? req?.method) === 'HEAD';
}

/** What a line of the log says of the request; nothing where a response stands alone. */
function requestOf(res: ConfiguredResponse): LoggedRequest {
  const { req } = res as Partial<ConfiguredResponse>;
  return req === undefined ? {} : loggedRequest(req);
}

/** Logs data that could not be written. One for each response that may fail, so that the log says which. */
export class SerializationReport implements FailureReport {
  readonly #res: ConfiguredResponse;
  /** Taken at once: by the time it fails, another framework may have put its own prototype on. */
  readonly #settings: ResponseSettings;

  constructor(res: ConfiguredResponse) {
    this.#res = res;
    this.#settings = res[kSettings];
  }

  get development(): boolean {
    return this.#settings.development;
  }

  get isHead(): boolean {
    return isHead(this.#res);
  }

  onError(error: unknown): void {
    this.#settings.logger.error({ err: error, ...requestOf(this.#res) }, 'The response data could not be serialized');
    const { req } = this.#res as { req?: { [kWatch]?: ErrorWatch } };
    req?.[kWatch]?.failed(error);
  }
}

/**
 * Sees to it that bytes which come after the end harm nobody: Node raises an
 * event, which ends the process where nobody listens. Who listens by then hears
 * of it as on Node; else it is logged.
 */
export function hearLateWrite(res: ConfiguredResponse & { [kLateWrite]?: (error: Error) => void }): void {
  // The settings are taken at once: by the time it is raised, another framework may have put its own prototype on.
  const report = (res[kLateWrite] ??= reportLateWrite.bind(undefined, res, res[kSettings]));
  if (!res.listeners('error').includes(report)) res.on('error', report);
  // Of one that is closed, Node raises nothing.
  if (res.destroyed) report(Object.assign(new Error('write after end'), { code: 'ERR_STREAM_WRITE_AFTER_END' }));
}

function reportLateWrite(this: void, res: ConfiguredResponse, { logger }: ResponseSettings, error: Error): void {
  if (res.listenerCount('error') > 1) return;
  logger.error({ err: error, ...requestOf(res) }, 'Data was written after the response had ended');
}
