import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { asFailure, type ErrorBody, errorBody, headersOf, type HttpError, statusOf, statusText } from '../errors';
import { isExposed } from '../exposure';
import { pathOf } from '../target/target';
import { isHead } from './answer';
import { closeAfter, destroyAfter } from './connection';
import { formatError, type FormattedError } from './error-format';
import { firstAnswerOf } from './first-answer';
import { refusedBody, requestOf } from './logged-request';
import { JSON_TYPE } from './media-type';
import { type AnswerField, cutOff, sendOwn } from './own-answer';
import { kOriginalUrl, watches } from './request-state';
import { type ConfiguredResponse, kAnswering, kFail, kSettings, type ResponseSettings, settingsOf } from './response-state';
import { type FailureReport, sendFailure } from './serialization-failure';
import { hintForData, hintForFailure } from '../hints';

/** Fields of a request that the answer for no handler names. */
interface Received {
  readonly method: string;
  /** A string, unless the program has assigned something else. */
  readonly originalUrl: unknown;
  readonly [kOriginalUrl]?: string | undefined;
}

/** Fields of an error's own that would belie the default answer. */
const UNFIT = new Set(['content-encoding', 'content-length', 'content-type', 'transfer-encoding', 'trailer']);
const NO_FIELDS: readonly AnswerField[] = [];

/** Milliseconds that a client has to read a refused upgrade and close. */
const LINGER = 2000;

/** Answers for data that JSON can't hold, whatever was set before (INTERFACE section 7.2). In an Express program error middleware answers. */
export function refuse<R extends ConfiguredResponse & { [kFail](error: unknown): void }>(res: R, error: unknown, data?: unknown): R {
  if (res[kSettings].asExpress === true) res[kFail](error);
  else sendFailure(res, error, new SerializationReport(res, data));
  return res;
}

/**
 * Answers for an error that nothing else answers. The status is the error's own,
 * which may bring headers too, else that of the response if it says that something
 * failed, else 500. Where `xJson` is still answering, the error is only logged.
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
  const shown = development || isExposed(error);
  const fields = own === undefined || !shown ? NO_FIELDS : headersOf(error).filter(([name]) => !UNFIT.has(name.toLowerCase()));
  answerFailure(res, status, errorBody(error, status, shown, development), fields, shown ? error : undefined);
}

/**
 * The framework's own answer instead of a handler's, in the form of the option
 * `errors`. Drops what middleware said of the unsent body, and skips a replaced `json`.
 * @param body Undefined for a status without content.
 * @param error Undefined where the client may not read of it.
 */
export function answerFailure(res: ConfiguredResponse, status: number, body: ErrorBody | undefined, fields = NO_FIELDS, error?: unknown): void {
  const formatted = body && formatError(settingsOf(res).errors, status, body, requestIn(res), error, (failure) => logFailure(res, failure));
  sendOwn(res, { status, body: formatted?.text, type: formatted?.type ?? JSON_TYPE, isHead: isHead(res), fields }, logFailure);
}

function requestIn(res: ConfiguredResponse): IncomingMessage | undefined {
  return (res as { readonly req?: IncomingMessage }).req;
}

/** Answers a request whose head is refused, and closes the connection: nothing behind an ambiguous head is carried out. */
export function refuseHead(request: IncomingMessage, res: ConfiguredResponse, error: HttpError): void {
  closeAfter(request, res);
  answerFailure(res, error.status, errorBody(error, error.status, true, false));
}

/** Answers a request to switch protocols, which has no response, and closes its socket. */
export function answerSocket(socket: Duplex, status: number, { text: body, type }: FormattedError, fields = NO_FIELDS): void {
  // Node's time limits end with an upgrade, and Node does not close its socket.
  destroyAfter(socket, LINGER);
  socket.resume();
  socket.end([
    `HTTP/1.1 ${status} ${statusText(status)}`, 'Connection: close', `Content-Type: ${type}`,
    ...fields.map(([name, value]) => `${name}: ${String(value)}`), `Content-Length: ${Buffer.byteLength(body)}`, '', body,
  ].join('\r\n'));
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
  if (method === 'OPTIONS') answerFailure(res, 204, undefined, fields);
  else answerRefusal(res, 405, method, url, fields);
}

function answerRefusal(res: ConfiguredResponse, status: number, method: string, url: string, fields: readonly AnswerField[]): void {
  answerFailure(res, status, { error: statusText(status), message: `Cannot ${method} ${pathOf(url)}` }, fields);
}

function logFailure(res: ConfiguredResponse, error: unknown): void {
  res[kSettings].logger.error({ err: error, ...requestOf(res), ...hintForFailure(error, firstAnswerOf(res)) }, 'The response failed');
}

/** Logs a client's error only if an option of the program decides it. */
function logRefusal(res: ConfiguredResponse, error: unknown): void {
  const refused = refusedBody(error, (res as Partial<ConfiguredResponse>).req);
  if (refused !== undefined) res[kSettings].logger.info(refused, 'The request body was refused');
}

/** Logs data that could not be written. One for each response that may fail, so that the log says which. */
export class SerializationReport implements FailureReport {
  readonly #res: ConfiguredResponse;
  /** Taken at once: by the time it fails, another framework may have put its own prototype on. */
  readonly #settings: ResponseSettings;
  readonly #data: unknown;

  /** @param data What could not be written, where a hint may name its member. */
  constructor(res: ConfiguredResponse, data?: unknown) {
    this.#res = res;
    this.#data = data;
    this.#settings = settingsOf(res);
  }

  get development(): boolean {
    return this.#settings.development;
  }

  get isHead(): boolean {
    return isHead(this.#res);
  }

  format(status: number, body: ErrorBody): FormattedError | undefined {
    const { errors } = this.#settings;
    return errors && formatError(errors, status, body, requestIn(this.#res), undefined, (failure) => this.onError(failure));
  }

  onError(error: unknown): void {
    this.#settings.logger.error({ err: error, ...requestOf(this.#res), ...hintForData(error, this.#data) }, 'The response data could not be serialized');
    const { req } = this.#res as { req?: object };
    if (req !== undefined) watches.get(req)?.failed(error);
  }
}
