import type { ServerResponse } from 'node:http';
import { type ErrorBody, LONGEST_SHOWN } from '../errors';
import type { FormattedError } from './error-format';
import { sendOwn } from './own-answer';

/** Report of a response's failure, and how much of it a client may read. */
export interface FailureReport {
  /** Lets the client read the error's own message. */
  readonly development: boolean;
  /** True if the client asked by HEAD. @default by the request's method */
  readonly isHead?: boolean;
  /** The body in the form of the option `errors`; undefined for the default one. */
  format?(status: number, body: ErrorBody): FormattedError | undefined;
  /** Logs the error. */
  onError(error: unknown): void;
}

/** The body for data that could not be serialized (INTERFACE section 7.2); the error's own message is shown in development only. */
export function serializationFailure(error: unknown, development: boolean): { error: string; message: string; originalError?: string } {
  return { error: 'Serialization failed', message: 'Unable to serialize response object', ...(development && { originalError: messageOf(error) }) };
}

/** Answers 500 with that body, or cuts off what has begun. Works whatever was left on the response, and never throws. */
export function sendFailure(res: ServerResponse, error: unknown, report: FailureReport): void {
  report.onError(error);
  const failure = serializationFailure(error, report.development);
  const { text, type } = report.format?.(500, failure) ?? { text: JSON.stringify(failure), type: 'application/json' };
  const isHead = report.isHead ?? (res.req as ServerResponse['req'] | undefined)?.method === 'HEAD';
  sendOwn(res, { status: 500, body: text, type, isHead, fields: [] }, (_, trouble) => report.onError(trouble));
}

/** Message of anything thrown. */
export function messageOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_SHOWN);
}

/** The stack of an error, where it has one that can be read. */
export function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack?.slice(0, LONGEST_SHOWN) : undefined;
}
