import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addAbortSignal, Duplex, type Readable } from 'node:stream';
import type { InjectOptions as Options, Response as Answer } from 'light-my-request';
import { lightMyRequest } from '../packages';
import { addHeaderLines, attach, detach, dropUnread, endBody, headSent, pushWhenRead } from '../http/node/injected-message';
import { kOwn } from '../http/response-state';
import { setImmediate } from '../timers';

/** The request of `app.inject`: `method`, `url`, `headers`, `query`, `cookies`, `payload` and other options of light-my-request. */
export type InjectOptions = Options;

/** The response of `app.inject`: `statusCode`, `headers`, `payload`, `json()` and other members of light-my-request's. */
export type InjectResponse = Answer;

/** A request of light-my-request: a stream of the payload, with the head that Node's parser would give. */
type MockRequest = Readable & Pick<IncomingMessage, 'headers' | 'method' | 'url'> & {
  readonly socket: { readonly remoteAddress: string };
  readonly _lightMyRequest: { readonly payload: unknown; readonly simulate: object };
};

interface DispatchOptions {
  /** True for a payload that is a stream. */
  readonly streamed: boolean;
  readonly signal: AbortSignal | undefined;
}

/** The application, the class of its requests, and whether its server has TLS. */
export interface InjectTarget {
  readonly listener: RequestListener;
  readonly Request: new (socket: Socket) => IncomingMessage;
  readonly encrypted: boolean;
}

/**
 * Answers a request without a network socket. light-my-request makes headers,
 * payload and result; request and response are of the application's own classes,
 * as on its server, so that all middleware works.
 */
export async function inject(given: string | InjectOptions, target: InjectTarget): Promise<InjectResponse> {
  // An error for invalid options would end the process in a later tick.
  const options: InjectOptions = { ...(typeof given === 'string' ? { url: given } : given), autoStart: false };
  const payload: unknown = options.payload ?? options.body;
  const streamed = typeof payload === 'object' && payload !== null && 'pipe' in payload;
  // Never the application itself: the library would change the prototypes of its `request` and `response`.
  const answer = await lightMyRequest().inject((mock, res) => dispatch(mock as unknown as MockRequest, res, { streamed, signal: options.signal as AbortSignal | undefined }, target), options);
  const { res } = answer.raw;
  Object.assign(answer.raw, { req: res.req });
  // Node adds the length of a body sent in one piece; the library knows only headers that were set.
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(headSent(res)) ?? [];
  if (length !== undefined) answer.headers['content-length'] ??= length;
  return answer;
}

function dispatch(mock: MockRequest, res: ServerResponse, { streamed, signal }: DispatchOptions, { listener, Request, encrypted }: InjectTarget): void {
  const socket = new InjectedSocket(mock, encrypted);
  // The library itself obeys it only until the payload is read.
  if (signal !== undefined) addAbortSignal(signal, socket);
  const req = new Request(socket as unknown as Socket);
  const { method, url } = mock;
  Object.assign(req, { method, url, httpVersionMajor: 1, httpVersionMinor: 1, httpVersion: '1.1' });
  addHeaderLines(req, headerLines(mock, streamed));
  record(res, req, socket);
  // The response is sent by Node's own methods, as on a server.
  Object.setPrototypeOf(res, ServerResponse.prototype);
  pushPayload(mock, req, socket);
  listener(req, res);
}

/** A socket without a network, with an address and a state. */
export class InjectedSocket extends Duplex {
  readonly remoteAddress: string | undefined;
  readonly remotePort = 0;
  readonly remoteFamily = 'IPv4';
  readonly encrypted: boolean;
  readonly #payload: Readable;

  constructor(mock: Readable & { readonly socket: { readonly remoteAddress: string | undefined } }, encrypted: boolean) {
    super();
    this.remoteAddress = mock.socket.remoteAddress;
    this.encrypted = encrypted;
    this.#payload = mock;
  }

  override _read(): void {
    // The payload is pushed to the request, as by a parser.
  }

  override _write(_chunk: unknown, _encoding: BufferEncoding, done: () => void): void {
    // Asynchronous like a network, so that backpressure applies.
    setImmediate(done);
  }

  /** Called by a request whose reader is slow. */
  override pause(): this {
    this.#payload.pause();
    return this;
  }

  override resume(): this {
    this.#payload.resume();
    return this;
  }

  destroySoon(): void {
    this.end(() => this.destroy());
  }

  setTimeout(): this {
    return this;
  }

  setNoDelay(): this {
    return this;
  }

  setKeepAlive(): this {
    return this;
  }

  ref(): this {
    return this;
  }

  unref(): this {
    return this;
  }
}

/** Alternating header names and values, with the framing of a payload of unknown length. */
function headerLines({ headers }: MockRequest, streamed: boolean): string[] {
  const lines = Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [name, value] : []));
  const framed = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return streamed && !framed ? [...lines, 'transfer-encoding', 'chunked'] : lines;
}

/** Pushes the payload to the request as Node's parser does. */
function pushPayload(mock: MockRequest, req: IncomingMessage, socket: InjectedSocket): void {
  const { payload, simulate } = mock._lightMyRequest;
  // The library would wait for the global setImmediate.
  if (Object.keys(simulate).length === 0 && (payload === null || typeof payload === 'string' || Buffer.isBuffer(payload))) pushWhenRead(mock, payload);
  mock.on('data', (chunk: Buffer) => {
    if (!req.push(chunk)) mock.pause();
  });
  mock.on('end', () => endBody(req));
  // After an abort or a failed payload: over a network the connection would be closed.
  mock.on('close', () => {
    if (!req.complete) socket.destroy();
  });
  socket.on('close', () => {
    req.destroy(req.complete ? undefined : Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
  });
}

/** Records the sent body for the library, whatever the response's prototype. Ends the exchange as Node's server does. */
function record(res: ServerResponse, req: IncomingMessage, socket: InjectedSocket): void {
  const { stream, payloadChunks } = (res as unknown as { _lightMyRequest: { stream?: Readable; payloadChunks?: Buffer[] } })._lightMyRequest;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- they stay methods of the response
  const { writeHead, addTrailers } = Object.getPrototypeOf(res) as ServerResponse;
  const recordChunk = (chunk: unknown, encoding: unknown): void => {
    if (res.writableEnded || isBodiless(res) || (typeof chunk !== 'string' && !ArrayBuffer.isView(chunk))) return;
    const bytes = Buffer.from(chunk as string, typeof encoding === 'string' ? (encoding as BufferEncoding) : undefined);
    if (stream !== undefined) stream.push(bytes);
    else payloadChunks?.push(bytes);
  };
  let isFull = false;
  Object.assign(res, {
    req,
    writeHead,
    addTrailers,
    write(...given: Parameters<ServerResponse['write']>): boolean {
      // The head comes first: the library answers at `writeHead` when the payload is a stream.
      if (!res.headersSent) res.writeHead(res.statusCode);
      recordChunk(given[0], given[1]);
      const takesMore = (Object.getPrototypeOf(res) as ServerResponse).write.apply(res, given);
      isFull ||= !takesMore;
      return takesMore;
    },
    end(...given: Parameters<ServerResponse['end']>): ServerResponse {
      recordChunk(given[0], given[1]);
      return (Object.getPrototypeOf(res) as ServerResponse).end.apply(res, given);
    },
  });
  // eslint-disable-next-line @typescript-eslint/unbound-method -- they are called as the response's own
  Object.assign(res, { [kOwn]: { end: res.end, write: res.write } });
  // An `error` listener on the response would change error handling, so the library's moves.
  for (const listener of res.listeners('error')) {
    res.removeAllListeners('error');
    socket.on('error', listener as (error: Error) => void);
  }
  attach(res, socket as unknown as Socket);
  socket.on('drain', () => {
    if (!isFull || res.writableEnded) return;
    isFull = false;
    res.emit('drain');
  });
  res.on('finish', () => {
    dropUnread(req);
    detach(res, socket as unknown as Socket);
  });
}

function isBodiless({ req, statusCode }: ServerResponse): boolean {
  return req.method === 'HEAD' || statusCode === 204 || statusCode === 304;
}
