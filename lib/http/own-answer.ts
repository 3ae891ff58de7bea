import { ServerResponse } from 'node:http';
import { forgetHead } from './node/head-marks';
import { endsConnection } from './node/last-answer';
import { kOwn, type OwnMethods } from './response-state';
import { isTakenOver } from './taken-over';
import { destroyInTurn } from './turn';
import { setImmediate } from '../timers';

/** A header field that goes with an answer. */
export type AnswerField = readonly [name: string, value: unknown];

/** The framework's own answer, instead of a handler's. */
export interface OwnAnswer {
  readonly status: number;
  /** Undefined for a status without content. */
  readonly body: string | undefined;
  /** The body's Content-Type. */
  readonly type: string;
  /** True if the client asked by HEAD, whatever the request's method is now: then no body is sent. */
  readonly isHead: boolean;
  /** Other fields; those that can't be sent are left out. */
  readonly fields: readonly AnswerField[];
}

/** Told of what kept an answer from being sent as it usually is; must not throw. */
export type AnswerTrouble<R> = (res: R, error: unknown) => void;

/** Fields that describe the unsent body, and would be wrong, or cached, with another. */
const STALE_FIELDS = new Set([
  'age', 'cache-control', 'cdn-cache-control', 'content-digest', 'content-disposition', 'content-encoding', 'content-language', 'content-location',
  'content-md5', 'content-range', 'digest', 'etag', 'expires', 'last-modified', 'repr-digest', 'surrogate-control', 'trailer', 'transfer-encoding',
]);

/**
 * Sends an answer of the framework's own: drops what was said of another body, and goes through the
 * response's own methods, so that middleware which replaced them takes part. Cuts the response off
 * where its head is out, or what is replaced throws. Never throws.
 */
export function sendOwn<R extends ServerResponse>(res: R, answer: OwnAnswer, troubled: AnswerTrouble<R>): void {
  try {
    if (!res.headersSent) return send(res, answer, troubled);
  } catch (error) {
    troubled(res, error);
  }
  cutOff(res);
}

function send<R extends ServerResponse>(res: R, { status, body, type, isHead, fields }: OwnAnswer, troubled: AnswerTrouble<R>): void {
  if (!isHead && isNodes(res)) forgetHead(res);
  dropStale(res, status, body !== undefined);
  for (const [name, value] of fields) {
    try {
      res.setHeader(name, value as string);
    } catch (error) {
      // An error may bring a field that Node refuses.
      troubled(res, error);
    }
  }
  // The head must say that the connection ends, whatever middleware has set.
  if (isNodes(res) && endsConnection(res)) res.setHeader('Connection', 'close');
  res.statusCode = status;
  res.statusMessage = '';
  // The handler still has it: a replaced `end` may take its time.
  // eslint-disable-next-line @typescript-eslint/unbound-method -- called as the response's own
  const end = (isTakenOver(res) ? (res as { readonly [kOwn]?: OwnMethods })[kOwn] ?? ServerResponse.prototype : res).end as (body?: string | Buffer, encoding?: BufferEncoding) => unknown;
  if (body === undefined) return void end.call(res);
  const length = Buffer.byteLength(body);
  res.setHeader('Content-Type', type);
  res.setHeader('Content-Length', String(length));
  if (isHead) end.call(res);
  // ASCII text is one write with the head, which is Latin-1. A replaced `end` may overlook the encoding.
  else if (length === body.length && !Object.hasOwn(res, 'end') && isNodes(res)) end.call(res, body, 'latin1');
  else end.call(res, isNodes(res) ? Buffer.from(body) : body);
}

/** True for a response of Node's; false for one that a test has made. */
function isNodes(res: unknown): boolean {
  return res instanceof ServerResponse;
}

function dropStale(res: Partial<ServerResponse>, status: number, hasBody: boolean): void {
  for (const name of res.getHeaderNames?.() ?? []) {
    // RFC 9110 section 15.5.17: with 416 Content-Range tells the length there is.
    const isStale = STALE_FIELDS.has(name) ? name !== 'content-range' || status !== 416 : !hasBody && (name === 'content-type' || name === 'content-length');
    if (isStale) res.removeHeader?.(name);
  }
}

/**
 * Cuts a response off whose head is out: the only way left to tell the client that
 * it is not whole. In the next turn, since what was written in this one is not on its way yet.
 */
export function cutOff(res: ServerResponse): void {
  if (!res.writableEnded) setImmediate(destroy, res);
}

function destroy(res: ServerResponse): void {
  if (!res.destroyed) destroyInTurn(res);
  res.destroy();
}

/** Sends what middleware holds back to compress more at once: an event is to come when it happens. */
export function flushBuffered(res: ServerResponse & { flush?(): void }): void {
  if (typeof res.flush === 'function') res.flush();
}

/**
 * Sends what the program has corked so far: until then no `drain` comes, and Node ends a body of chunks before what was held of
 * it. It stays as often corked as it was: Node 24 and before hold back what is written once the program uncorks it more often.
 */
export function sendCorked(res: ServerResponse): void {
  const corked = res.writableCorked;
  for (let left = corked; left > 0; left--) res.uncork();
  for (let left = corked; left > 0; left--) res.cork();
  if (!(corked > 0)) return;
  // A response that waits for its turn corks its socket then, and flushes into that.
  if (res.socket === null) res.once('socket', () => process.nextTick(sendCorked, res));
  // Node 22 may have written all at once, and tells nobody.
  else if (!res.socket.writableNeedDrain) process.nextTick(tellDrained, res);
}

function tellDrained(res: ServerResponse): void {
  if (res.writableNeedDrain) res.emit('drain');
}
