import type { IncomingMessage } from 'node:http';
import { type ErrorBody, type ErrorFormat, HttpError, type ProblemDetails, statusText } from '../errors';
import { JSON_TYPE } from './media-type';

/** A default answer as it is sent. */
export interface FormattedError {
  readonly text: string;
  readonly type: string;
}

/**
 * Writes the body of a default error answer in the form of the option `errors`.
 * @param body Fields of the default form; others beside `error` and `message` become members of the problem.
 * @param error Undefined where the client may not read of it.
 * @param troubled Told of a format, or members, that fail; the answer does without.
 */
export function formatError(format: ErrorFormat | undefined, status: number, body: ErrorBody, req: IncomingMessage | undefined, error: unknown, troubled: (failure: unknown) => void): FormattedError {
  try {
    return written(format, status, body, req, error);
  } catch (failure) {
    troubled(failure);
    return written(format && 'problem', status, { error: body.error, message: body.message }, req, error);
  }
}

function written(format: ErrorFormat | undefined, status: number, body: ErrorBody, req: IncomingMessage | undefined, error: unknown): FormattedError {
  if (format === undefined) return { text: JSON.stringify(body), type: JSON_TYPE };
  const { error: _, message, ...members } = body;
  const { id } = (req ?? {}) as { readonly id?: unknown };
  const problem: ProblemDetails = {
    type: (error instanceof HttpError ? error.type : undefined) ?? 'about:blank',
    title: statusText(status),
    status,
    ...(message !== statusText(status) && { detail: message }),
    ...(typeof id === 'string' && { instance: id }),
  };
  // Its own members go first, and are not replaced by the error's.
  const whole = { ...problem, ...members, ...problem };
  return { text: JSON.stringify(typeof format === 'function' && req !== undefined ? format(whole, req, error) : whole), type: 'application/problem+json' };
}
