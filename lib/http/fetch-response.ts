import type { ServerResponse } from 'node:http';
import { forgetFraming, isBodiless, stripContent } from './answer';
import { type ConfiguredResponse, kAnswering, kOwn } from './response-state';
import { StreamedBody, type StreamSource } from './streamed-body';
import { isTakenOver } from './taken-over';
import { vary } from '../packages';

/** A Response of fetch, or of a package that has its own. */
export type FetchResponse = Pick<globalThis.Response, 'bodyUsed' | 'headers' | 'status' | 'statusText' | 'url'> & { readonly body: unknown };

type ReadResult = Awaited<ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']>>;

/** Fields of the connection that a Response came by. */
const OF_CONNECTIONS: ReadonlySet<string> = new Set(['connection', 'keep-alive', 'proxy-connection', 'trailer', 'transfer-encoding', 'upgrade']);
/** Fields of a body as it came, which fetch has decoded since. */
const OF_CODED: ReadonlySet<string> = new Set(['content-encoding', 'content-length']);
/** Longest body that is sent as text, in bytes. */
const SHORT = 16_384;
/** Turns of the microtask queue in which a body that is there ends. */
const TURNS = 8;

/**
 * Answers with a Response of fetch: status, fields (each Set-Cookie a field of its own) and body, as fast as the client takes it.
 * An error of the body before its first byte goes to error middleware; a later one cuts the response off, too.
 * @throws TypeError for one whose body has been read, and Response.error(); ERR_HTTP_HEADERS_SENT when the head is out.
 */
export function sendResponse(res: ConfiguredResponse, response: FetchResponse, fail: (error: unknown) => void): void {
  const { body, headers, status, statusText } = response;
  if (isTakenOver(res)) return letGo(body);
  if (res.headersSent) throw Object.assign(new Error('a Response cannot be sent: a response has been sent already'), { code: 'ERR_HTTP_HEADERS_SENT' });
  if (status < 200) throw new TypeError('a Response of status 0, which Response.error() makes, cannot be sent');
  if (response.bodyUsed || (body as ReadableStream | null)?.locked === true) throw new TypeError('a Response whose body has been read cannot be sent: send response.clone(), or read that');
  res.statusCode = status;
  res.statusMessage = statusText;
  addFields(res, headers, response.url !== '' && headers.has('content-encoding'));
  if (body === null || body === undefined || isBodiless(res) || res.destroyed) {
    letGo(body);
    if ((body === null || body === undefined) && !isBodiless(res) && !stripContent(res)) res.setHeader('Content-Length', '0');
    res.end();
  } else if (!isWebStream(body)) {
    new StreamedBody(res, body as StreamSource, fail).start();
  } else {
    sendBody(res, body, fail).catch(fail);
  }
}

function addFields(res: ServerResponse, headers: Headers, isDecoded: boolean): void {
  for (const [name, value] of headers) {
    if (OF_CONNECTIONS.has(name) || (isDecoded && OF_CODED.has(name))) continue;
    if (name === 'set-cookie') res.appendHeader(name, value);
    // Middleware in front, such as of CORS, has its own.
    else if (name === 'vary') vary()(res, value);
    else res.setHeader(name, value);
  }
}

/** Sends what is there at once in one piece, with its length; anything else as it comes. */
async function sendBody(res: ConfiguredResponse, body: ReadableStream<Uint8Array>, fail: (error: unknown) => void): Promise<void> {
  const reader = body.getReader();
  let ended = false;
  res.once('close', () => {
    if (!ended) reader.cancel().catch(() => undefined);
  });
  const first = await reader.read();
  ended = first.done;
  const next = ended ? undefined : reader.read();
  next?.then(({ done }) => {
    ended = done;
  }, () => undefined);
  for (let turn = 0; turn < TURNS && !ended; turn++) await Promise.resolve();
  // Answered for the handler, or left by the client.
  if (res.writableEnded || res.destroyed) return;
  const { value } = first;
  if (next === undefined || (ended && value instanceof Uint8Array)) {
    forgetFraming(res);
    res.setHeader('Content-Length', String(value?.byteLength ?? 0));
    // As text it is one write with the head. A replaced `end` may overlook the encoding.
    if (value !== undefined && value.byteLength <= SHORT && res.end === res[kOwn].end) res.end(Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString('latin1'), 'latin1');
    else res.end(value);
  } else {
    new StreamedBody(res, rest(first, next, reader), fail).start();
  }
}

async function* rest(first: ReadResult, next: Promise<ReadResult>, reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator {
  yield first.value;
  for (let result = await next; !result.done; result = await reader.read()) yield result.value;
}

function isWebStream(body: unknown): body is ReadableStream<Uint8Array> {
  return typeof (body as Partial<ReadableStream> | null | undefined)?.getReader === 'function';
}

/** Cancels a body that is not sent. */
function letGo(body: unknown): void {
  if (isWebStream(body)) body.cancel().catch(() => undefined);
}

/** Sends what a handler has returned, unless something is answered by now. */
export function sendReturned(res: ConfiguredResponse, response: FetchResponse, fail: (error: unknown) => void): void {
  if (res.headersSent || res.writableEnded || res[kAnswering]) return letGo(response.body);
  try {
    sendResponse(res, response, fail);
  } catch (error) {
    fail(error);
  }
}
