import { ServerResponse } from 'node:http';
import { types } from 'node:util';
import { isFree } from './node/connection-work';
import { frameByFields, sendBody, sendsBody, writeHeadBy } from './node/head-marks';
import { endsConnection } from './node/last-answer';
import { isTakenOver } from './taken-over';
import { destroyInTurn, sendHeadInTurn } from './turn';

/** A header field that goes with an answer. */
export type AnswerField = readonly [name: string, value: unknown];

/** An answer of the framework's own, which stands in the place of a handler's. */
export interface OwnAnswer {
  readonly status: number;
  /** Undefined for a status without content. */
  readonly body: string | undefined;
  /** The body's Content-Type. */
  readonly type: string;
  /** Whether the client asked by HEAD, whatever became of the request's method: then no body is sent. */
  readonly isHead: boolean;
  /** Other fields; those that can't be sent are left out. */
  readonly fields: readonly AnswerField[];
}

/** Told of what kept an answer from being sent as it usually is; must not throw. */
export type AnswerTrouble<R> = (res: R, error: unknown) => void;

/** Fields that spoke of the body that was to be sent, and would be wrong, or cached, with another. */
const STALE_FIELDS = new Set([
  'age', 'cache-control', 'cdn-cache-control', 'content-digest', 'content-disposition', 'content-encoding', 'content-language', 'content-location',
  'content-md5', 'content-range', 'digest', 'etag', 'expires', 'last-modified', 'repr-digest', 'surrogate-control', 'trailer', 'transfer-encoding',
]);

const node = ServerResponse.prototype as ServerResponse;

/**
 * Sends an answer of the framework's own, whatever was left on the response: nothing
 * that was said of another body stands. It goes through the response's own methods,
 * so that middleware which replaced them takes part, then through Node's, where
 * it was taken over from a handler at once; where those fail too, or the head is out, the response is cut off. Never throws.
 */
export function sendOwn<R extends ServerResponse>(res: R, answer: OwnAnswer, troubled: AnswerTrouble<R>): void {
  if (!((res as unknown) instanceof ServerResponse)) return sendByItself(res, answer, troubled);
  // What stands in the place of `end` may take its time, in which whoever still has the response would write into this answer.
  if (isTakenOver(res)) {
    if (!sendPlainly(res, answer)) cutOff(res);
    return;
  }
  try {
    if (isDetached(res)) throw new Error('The response has been detached from its socket');
    if (!res.headersSent) {
      const length = prepare(res, res, answer, troubled);
      // By this field the end of the body is told.
      if (node.getHeader.call(res, 'content-length') !== length) throw new Error('What stands in the place of setHeader does not do its work');
      if (res.writeHead !== classOf(res).writeHead) writeHeadBy(res, () => writeHead(res, answer, troubled));
      const ended: unknown = answer.body === undefined || answer.isHead ? res.end() : endWith(res, answer.body, length === String(answer.body.length));
      // What stands in the place of `end` may be asynchronous, and fail later.
      if (ended !== res && types.isPromise(ended)) ended.then(undefined, (error: unknown) => sendAnyhow(res, answer, troubled, error));
      return;
    }
  } catch (error) {
    sendAnyhow(res, answer, troubled, error);
    return;
  }
  cutOff(res);
}

/** What is none of Node's responses, such as one of a test without a server, knows best how it is sent. */
function sendByItself<R extends ServerResponse>(res: R, { status, body, type, isHead, fields }: OwnAnswer, troubled: AnswerTrouble<R>): void {
  try {
    res.statusCode = status;
    for (const [name, value] of fields) res.setHeader(name, value as string);
    if (body !== undefined) res.setHeader('Content-Type', type);
    if (body === undefined || isHead) res.end();
    else res.end(body);
  } catch (error) {
    troubled(res, error);
  }
}

/** What has the methods of a response that nobody has replaced on it. */
function classOf(res: ServerResponse): ServerResponse {
  return Object.getPrototypeOf(res) as ServerResponse;
}

/** As text it is one write with the head, both as Latin-1, which the head's fields are read as. What stands in the place of `end` may overlook the encoding. */
function endWith(res: ServerResponse, body: string, isAscii: boolean): ServerResponse {
  return !isAscii || res.end !== classOf(res).end ? res.end(Buffer.from(body)) : res.end(body, 'latin1');
}

function sendAnyhow<R extends ServerResponse>(res: R, answer: OwnAnswer, troubled: AnswerTrouble<R>, error: unknown): void {
  troubled(res, error);
  if (!sendPlainly(res, answer)) cutOff(res);
}

/** Writes the head by what stands in the place of `writeHead`. Where that fails, or does nothing, the body would go out alone. */
function writeHead<R extends ServerResponse>(res: R, answer: OwnAnswer, troubled: AnswerTrouble<R>): void {
  try {
    res.writeHead(res.statusCode);
  } catch (error) {
    troubled(res, error);
  }
  if (!res.headersSent) writePlainHead(res, answer);
}

/** Sends it by Node's own methods; answers whether it is on its way. */
function sendPlainly(res: ServerResponse, answer: OwnAnswer): boolean {
  try {
    // What failed may have done so when all was sent.
    if (res.headersSent) return res.writableEnded;
    if (isDetached(res)) return false;
    writePlainHead(res, answer);
    sendHeadInTurn(res);
    if (answer.body === undefined || answer.isHead) node.end.call(res, undefined, 'utf8');
    else node.end.call(res, Buffer.from(answer.body), 'utf8');
    return true;
  } catch {
    return false;
  }
}

/** What is in the place of Node's methods may have set anything by now. What can't be set has been told of already. */
function writePlainHead(res: ServerResponse, answer: OwnAnswer): void {
  prepare(res, node, answer, () => undefined);
  node.writeHead.call(res, answer.status);
}

/** Makes the head ready, by the methods of the response or by Node's; returns the Content-Length it must have by then. */
function prepare<R extends ServerResponse>(res: R, methods: ServerResponse, { status, body, type, isHead, fields }: OwnAnswer, troubled: AnswerTrouble<R>): string | undefined {
  // A head of 204 or 304 that Node has refused leaves this behind, and no body would be sent. Without its request, only Node knows whether HEAD asked.
  if (!isHead && (res as Partial<ServerResponse>).req) sendBody(res);
  for (const name of node.getHeaderNames.call(res)) {
    // RFC 9110 section 15.5.17: with 416 Content-Range tells the length there is.
    const isStale = STALE_FIELDS.has(name) ? name !== 'content-range' || status !== 416 : body === undefined && (name === 'content-type' || name === 'content-length');
    if (isStale) node.removeHeader.call(res, name);
  }
  for (const [name, value] of fields) {
    try {
      methods.setHeader.call(res, name, value as string);
    } catch (error) {
      troubled(res, error);
    }
  }
  // A connection that ends behind the answer must not be promised: so a head that Node has refused may have said.
  if (endsConnection(res)) methods.setHeader.call(res, 'Connection', 'close');
  res.statusCode = status;
  res.statusMessage = '';
  frameByFields(res);
  if (body === undefined) return undefined;
  const length = String(Buffer.byteLength(body));
  methods.setHeader.call(res, 'Content-Type', type);
  methods.setHeader.call(res, 'Content-Length', length);
  return length;
}

/** Whether a program has taken the response from its socket, so that nothing it writes arrives. One that waits for its turn has no socket either. */
function isDetached(res: ServerResponse): boolean {
  const { socket, req } = res as Partial<ServerResponse>;
  return socket === null && isFree(req?.socket) && req?.socket.destroyed === false;
}

/**
 * Cuts a response off whose head is out: the only way left to tell the client that
 * it is not whole. In the next turn, since what was written in this one is not on its way yet.
 */
export function cutOff(res: ServerResponse): void {
  try {
    if (res.writableEnded) return;
  } catch {
    // Whatever a program has put there.
  }
  setImmediate(destroy, res);
}

/** Destroys by Node's own method too, since middleware may have replaced `destroy`. */
function destroy(res: ServerResponse): void {
  try {
    if (!res.destroyed) destroyInTurn(res);
    res.destroy();
    node.destroy.call(res);
    if (isDetached(res)) res.req.socket.destroy();
  } catch {
    destroySocket(res);
  }
}

/** By the request's first: the response's own may be another, or none that can be read. */
function destroySocket(res: ServerResponse): void {
  try {
    const { req } = res as Partial<ServerResponse>;
    (req?.socket ?? res.socket)?.destroy();
  } catch {
    // Nothing leads to the connection any more.
  }
}

/**
 * Sends what a program has corked so far: until then no `drain` comes, and Node ends a body of chunks before what was held of it.
 * It stays as often corked as it was: Node 24 and before hold back what is written once the program uncorks it more often.
 */
export function sendCorked(res: ServerResponse): void {
  const corked = res.writableCorked;
  for (let left = corked; left > 0; left--) res.uncork();
  for (let left = corked; left > 0; left--) res.cork();
  if (!(corked > 0)) return;
  // One that waits for its turn corks the socket that it gets then, and flushes into that.
  if (res.socket === null) res.once('socket', () => process.nextTick(sendCorked, res));
  // Node 22 may have written all at once, and tells nobody.
  else if (!res.socket.writableNeedDrain) process.nextTick(tellDrained, res);
}

function tellDrained(res: ServerResponse): void {
  if (res.writableNeedDrain) res.emit('drain');
}

/**
 * Whether the answer is to a HEAD request. If middleware only made it look like
 * one, the client waits for the body, and Node means to send it.
 */
export function isBodiless(res: ServerResponse): boolean {
  return (res.req as ServerResponse['req'] | undefined)?.method === 'HEAD' && !sendsBody(res);
}
