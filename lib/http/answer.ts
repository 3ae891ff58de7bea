import { asFailure, errorBody, headersOf, statusOf, statusText } from '../errors';
import { pathOf } from '../target';
import { cutOff, type FailureReport, isBodiless, sendFailure, STALE_FIELDS } from '../xjson/failure';
import { kAnswering } from '../xjson/handler';
import { isFresh } from './etag';
import { fieldsOf } from './fields';
import { JSON_TYPE } from './media-type';
import { type ConfiguredResponse, kLatin1, kOwn, kSettings } from './response-state';

/**
 * Longest text, in UTF-16 units, that Node is given as text. It takes three
 * bytes of memory for each unit while it writes; a megabyte costs twice the
 * time of making the bytes first.
 */
const LONGEST_TEXT = 65_536;

/** What the answer to a request that nothing has taken speaks of. */
interface Received {
  readonly method: string;
  readonly originalUrl: string;
}

/** Fields of an error's own that would belie the default answer. */
const UNFIT = new Set(['content-encoding', 'content-length', 'content-type', 'transfer-encoding', 'trailer']);

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
  if (validator && isFresh(res)) res.statusCode = 304;
  const status = res.statusCode;
  if (status === 204 || status === 205 || status === 304) {
    stripBody(res, status);
    body = '';
  }
  endWith(res, body);
  return res;
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

/** Answers for data that could not be written as JSON (INTERFACE section 7.2), whatever was set before. */
export function refuse<R extends ConfiguredResponse>(res: R, error: unknown): R {
  sendFailure(res, error, new SerializationReport(res));
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
  const own = statusOf(error);
  const status = own ?? asFailure(res.statusCode) ?? 500;
  if (own === undefined || own >= 500 || res.headersSent || res[kAnswering]) logFailure(res, error);
  if (res[kAnswering]) return;
  if (res.headersSent) {
    cutOff(res);
    return;
  }
  answerJson(res, status, errorBody(error, status, res[kSettings].development), own === undefined ? undefined : headersOf(error));
}

/**
 * The framework's own answer in place of a handler's: nothing that middleware
 * said of the body it did not send stands, nor does a `json` it replaced.
 */
export function answerJson(res: ConfiguredResponse, status: number, body: object, headers: readonly [name: string, value: unknown][] = []): void {
  for (const name of STALE_FIELDS) {
    // RFC 9110 section 15.5.17: with 416 it tells the length there is.
    if (name !== 'Content-Range' || status !== 416) res.removeHeader(name);
  }
  for (const [name, value] of headers) setQuietly(res, name, value);
  res.statusCode = status;
  res.statusMessage = '';
  finish(res, JSON.stringify(body), JSON_TYPE);
}

/**
 * Answers what nothing has taken: 404, or 405 where the path has routes of
 * other methods only, and an OPTIONS request with what those are (RFC 9110
 * sections 9.3.7 and 15.5.6).
 * @param methods Methods of the routes that match the path; null where they are not to be told.
 */
export function answerUnmatched({ method, originalUrl }: Received, res: ConfiguredResponse, methods: Iterable<string> | null): void {
  const allowed = methods === null ? [] : [...methods].sort();
  let status = 404;
  // A route of the method itself has declined the request: then nothing is wrong with the method.
  if (allowed.length > 0 && !allowed.includes(method)) {
    if (!allowed.includes('OPTIONS')) allowed.push('OPTIONS');
    res.setHeader('Allow', allowed.join(', '));
    if (method === 'OPTIONS') {
      res.statusCode = 204;
      res.end();
      return;
    }
    status = 405;
  }
  answerJson(res, status, { error: statusText(status), message: `Cannot ${method} ${pathOf(originalUrl)}` });
}

/** Sets a field that an error brought, unless it speaks of a body that is not sent, or is none that Node can send. */
function setQuietly(res: ConfiguredResponse, name: string, value: unknown): void {
  if (UNFIT.has(name.toLowerCase())) return;
  try {
    res.setHeader(name, value as string);
  } catch (error) {
    logFailure(res, error);
  }
}

/** What was thrown may be anything, and may itself throw when the logger looks at it. */
function logFailure(res: ConfiguredResponse, error: unknown): void {
  const { logger } = res[kSettings];
  const { method, url } = res.req;
  try {
    logger.error({ err: error, method, url }, 'The response failed');
  } catch {
    logger.error({ method, url }, 'The response failed, with an error that cannot be read');
  }
}

/** Logs data that could not be written. One for each response that may fail, so that the log says which. */
export class SerializationReport implements FailureReport {
  readonly #res: ConfiguredResponse;

  constructor(res: ConfiguredResponse) {
    this.#res = res;
  }

  get development(): boolean {
    return this.#res[kSettings].development;
  }

  onError(error: unknown): void {
    const { method, url } = this.#res.req;
    this.#res[kSettings].logger.error({ err: error, method, url }, 'The response data could not be serialized');
  }
}

/** Logs bytes that came after the end; Node would raise an event that ends the process. */
export function reportLateWrite(res: ConfiguredResponse, callback: unknown): void {
  const error = Object.assign(new Error('Data was written after the response had ended'), { code: 'ERR_STREAM_WRITE_AFTER_END' });
  res[kSettings].logger.error({ err: error, method: res.req.method, url: res.req.url }, error.message);
  if (typeof callback === 'function') process.nextTick(callback, error);
}
