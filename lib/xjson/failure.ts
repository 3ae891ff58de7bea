import type { ServerResponse } from 'node:http';

/** Where the failure of a response is reported, and how much of it a client may read. */
export interface FailureReport {
  /** Whether the client may read the error's own message. */
  readonly development: boolean;
  /** Logs the error. */
  onError(error: unknown): void;
}

/** The body for data that could not be serialized (INTERFACE section 7.2). */
export interface SerializationFailure {
  error: 'Serialization failed';
  message: 'Unable to serialize response object';
  originalError?: string;
}

/** Makes that body; the error's own message is shown in development only. */
export function serializationFailure(error: unknown, development: boolean): SerializationFailure {
  const body: SerializationFailure = { error: 'Serialization failed', message: 'Unable to serialize response object' };
  if (development) body.originalError = messageOf(error);
  return body;
}

/** Fields that spoke of the body that was to be sent, and would be wrong, or cached, with this one. */
export const STALE_FIELDS = [
  'Cache-Control', 'Content-Disposition', 'Content-Encoding', 'Content-Language',
  'Content-Range', 'ETag', 'Expires', 'Last-Modified', 'Transfer-Encoding',
] as const;

/**
 * Cuts a response off whose head is out: the only way left to tell the client
 * that it is not whole. What was written in this turn is not on its way yet,
 * and is all that the client gets to see, so it is cut in the next.
 */
export function cutOff(res: ServerResponse): void {
  if (!res.writableEnded) setImmediate(destroy, res);
}

function destroy(res: ServerResponse): void {
  res.destroy();
}

/** Answers 500 with that body, or cuts off what has begun. */
export function sendFailure(res: ServerResponse, error: unknown, report: FailureReport): void {
  report.onError(error);
  if (res.headersSent) {
    cutOff(res);
    return;
  }
  const body = JSON.stringify(serializationFailure(error, report.development));
  for (const name of STALE_FIELDS) res.removeHeader(name);
  res.statusCode = 500;
  res.statusMessage = '';
  res.setHeader('Content-Type', 'application/json');
  res.setHeader('Content-Length', Buffer.byteLength(body));
  if (isBodiless(res)) res.end();
  else res.end(Buffer.from(body));
}

/**
 * Whether the answer is to a HEAD request. If middleware only made it look like
 * one, the client waits for the body, and Node means to send it.
 */
export function isBodiless(res: ServerResponse): boolean {
  return res.req.method === 'HEAD' && (res as unknown as { _hasBody?: boolean })._hasBody !== true;
}

/** What is thrown may be anything, and may itself throw when it is looked at. */
export function messageOf(error: unknown): string {
  try {
    return error instanceof Error ? String(error.message) : String(error);
  } catch {
    return 'unknown error';
  }
}
