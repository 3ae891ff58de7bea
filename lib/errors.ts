import { type IncomingMessage, STATUS_CODES } from 'node:http';
import { types } from 'node:util';

/**
 * Every error that waypost itself raises while it serves a request: its code,
 * its status and the message a client may read. docs/errors.md shows the same
 * table, and a spec holds the two equal.
 */
export const ERRORS = {
  DISPUTED_PATH: { status: 400, message: 'The request target can be read as two paths' },
  INVALID_HOST: { status: 400, message: 'The Host header, and a host in the target, must be one host, with or without a port' },
  ENDLESS_BODY: { status: 400, message: 'The transfer coding of the request does not tell where its body ends' },
  MALFORMED_PATH: { status: 400, message: 'The request path holds malformed percent-encoding' },
  MALFORMED_BODY: { status: 400, message: 'The request body could not be parsed' },
  INVALID_REQUEST: { status: 400, message: 'The request is not as its route asks' },
  FORBIDDEN_KEY: { status: 400, message: 'The request body holds a forbidden key' },
  NOT_ACCEPTABLE: { status: 406, message: 'The response cannot be had in a type that the request accepts' },
  BODY_TOO_LARGE: { status: 413, message: 'The request body is larger than the limit' },
  TOO_MANY_FIELDS: { status: 413, message: 'The form holds more than 1,000 fields' },
  TOO_MANY_CONTAINERS: { status: 413, message: 'The JSON of the request body holds too many arrays and objects' },
  UNSUPPORTED_ENCODING: { status: 415, message: 'The content encoding of the request body is not supported' },
  UNSUPPORTED_CHARSET: { status: 415, message: 'The charset of the request body is not supported' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'The Content-Type of the request body is not supported' },
  SCHEMA_FAILED: { status: 500, message: 'A schema has failed' },
  INVALID_RESPONSE: { status: 500, message: 'The response is not as its schema says' },
  UNSUPPORTED_TRANSFER_CODING: { status: 501, message: 'The transfer coding of the request body is not supported' },
  CLIENT_GONE: { status: 499, message: 'The client has gone before the response was whole' },
  HANDLER_TIMEOUT: { status: 503, message: 'No handler has answered in time' },
  SERVER_CLOSING: { status: 503, message: 'The server has closed before the response was whole' },
} as const satisfies Record<string, { status: number; message: string }>;

/** The code of an error that waypost raises; see {@link ERRORS}. */
export type ErrorCode = keyof typeof ERRORS;

/** The shape of every default error body: two string fields (INTERFACE section 7). */
export interface ErrorBody {
  /** The reason phrase of the status. */
  error: string;
  /** The failure, as far as a client may know. */
  message: string;
}

/** The body of an error answer as RFC 9457 has it. */
export interface ProblemDetails {
  /** URI that names the kind of problem. */
  type: string;
  /** The reason phrase of the status. */
  title: string;
  /** Status of the answer. */
  status: number;
  /** The failure, as far as a client may know. */
  detail?: string;
  /** Id of the request, where requests have one. */
  instance?: string;
  /** Members of the error's own, such as `errors` of a ValidationError. */
  [member: string]: unknown;
}

/**
 * Form of default error answers: problem details, or a function that is given
 * them and returns the body to send. `error` is undefined where the client may not read of it.
 */
export type ErrorFormat = 'problem' | ((problem: ProblemDetails, req: IncomingMessage, error: unknown) => object);

/** The limit that a request went beyond, for the log; a client is not told. */
export interface Exceeded {
  /** The limit, in the unit of its option. */
  readonly limit?: number;
  /** The option that sets it, or that leaves what was refused to the program. */
  readonly option?: string;
}

/** Fields that an error adds to its default answer, where its message is shown. */
export interface AnswerMembers {
  /** URI that names the kind of problem, in answers of `errors: 'problem'` (RFC 9457 section 3.1.1). @default 'about:blank' */
  readonly type?: string;
  /** Fields of its own, beside those that every answer has. @default none */
  readonly members?: Readonly<Record<string, unknown>>;
}

/**
 * An error with an HTTP status. What waypost raises is one of these, and
 * passes through error middleware like any other error; an application may
 * throw its own. `expose` says whether the message may reach a client.
 */
export class HttpError extends Error {
  /** HTTP status of the default answer: 400 to 599. */
  readonly status: number;
  /** Same as `status`, by the name that http-errors has for it. */
  readonly statusCode: number;
  /** A short upper-case name for programs to test. */
  readonly code: string;
  /** True where the message and `headers` may reach a client; never where `verify` or `reviver` of a body parser throws it. */
  readonly expose: boolean;
  /** The limit that the request went beyond, where the error is of one. */
  declare readonly limit?: number;
  /** The option that sets it. */
  declare readonly option?: string;
  /** URI that names the kind of problem. */
  declare readonly type?: string;
  /** Fields of its own in the default answer. */
  declare readonly members?: Readonly<Record<string, unknown>>;

  /**
   * @param status HTTP status, 400 to 599.
   * @param code A short upper-case name for programs to test.
   * @param message The failure; shown to the client when `status` is below 500, as `expose` says then.
   */
  constructor(status: number, code: string, message: string, options?: ErrorOptions & Exceeded & AnswerMembers) {
    super(message, options);
    this.name = 'HttpError';
    this.status = status;
    this.statusCode = status;
    this.code = code;
    this.expose = status < 500;
    if (options?.limit !== undefined) this.limit = options.limit;
    if (options?.option !== undefined) this.option = options.option;
    if (options?.type !== undefined) this.type = options.type;
    if (options?.members !== undefined) this.members = options.members;
  }

  /** Makes the error of that code from the table. */
  static of(code: ErrorCode, detail?: string, options?: ErrorOptions & Exceeded): HttpError {
    const { status, message } = ERRORS[code];
    return new HttpError(status, code, detail ?? message, options);
  }
}

/** The status an error asks for: its `status` or `statusCode` from 400 to 599; undefined where it has neither. */
export function statusOf(error: unknown): number | undefined {
  return asFailure(read(error, 'status')) ?? asFailure(read(error, 'statusCode'));
}

/** The number, if it is the status of a failure. */
export function asFailure(status: unknown): number | undefined {
  return typeof status === 'number' && Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined;
}

/** True for an error of any realm: another object that is thrown may be a client's, such as a parsed body. */
export function isError(thrown: unknown): boolean {
  return types.isNativeError(thrown) || thrown instanceof Error;
}

/** The header fields that an error brings for its answer, such as `Retry-After`. */
export function headersOf(error: unknown): [name: string, value: unknown][] {
  const headers = read(error, 'headers');
  return typeof headers === 'object' && headers !== null && isError(error) ? Object.entries(headers) : [];
}

/** Reads a field of a thrown value: a getter that throws would end the process. */
export function read(thrown: unknown, name: PropertyKey): unknown {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  try {
    return (thrown as Record<PropertyKey, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** The reason phrase of a status, as the `error` field holds it. */
export function statusText(status: number): string {
  return STATUS_CODES[status] ?? 'Error';
}

/** Longest message or stack that an answer holds, in UTF-16 units. */
export const LONGEST_SHOWN = 65_536;

/**
 * The default body for an error that nothing else answered.
 * @param shown True to show its message, as where it says `expose: true`; if not, the body says nothing of the inside.
 * @param development True to show its stack.
 */
export function errorBody(error: unknown, status: number, shown: boolean, development: boolean): ErrorBody & { stack?: string } {
  const members = shown && error instanceof HttpError ? error.members : undefined;
  const own = { error: statusText(status), message: statusText(status) };
  const body: ErrorBody & { stack?: string } = { ...own, ...members, ...own };
  if (!shown) return body;
  const fields = typeof error === 'object' && error !== null ? error : { message: error };
  const message = read(fields, 'message');
  if (typeof message === 'string' && message !== '') body.message = message.slice(0, LONGEST_SHOWN);
  const stack = read(fields, 'stack');
  if (development && typeof stack === 'string') body.stack = stack.slice(0, LONGEST_SHOWN);
  return body;
}
