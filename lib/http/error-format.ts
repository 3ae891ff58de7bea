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
  const { error: name, message, ...members } = body;
  const { id } = (req ?? {}) as { readonly id?: unknown };
  const problem: ProblemDetails = {
    type: (error instanceof HttpError ? error.type : undefined) ?? 'about:blank',
    title: statusText(status),
    status,
    ...(message !== statusText(status) && { detail: message }),
    ...(typeof id === 'string' && { instance: id }),
  };
  const write = (more: object): string => {
    if (format === undefined) return JSON.stringify({ error: name, message, ...more });
    // Its own members go first, and are not replaced by the error's.
    const whole = { ...problem, ...more, ...problem };
    return JSON.stringify(typeof format === 'function' && req !== undefined && more === members ? format(whole, req, error) : whole);
  };
  const type = format === undefined ? JSON_TYPE : 'application/problem+json';
  try {
    return { text: write(members), type };
  } catch (failure) {
    troubled(failure);
    return { text: write({}), type };
  }
}
