import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { addAbortSignal, Duplex, type Readable } from 'node:stream';
import type { InjectOptions as Options, Response as Answer } from 'light-my-request';
import { lightMyRequest } from '../packages';
import { addHeaderLines, attach, detach, dropUnread, endBody, headSent } from '../http/node/injected-message';

/** The request of `app.inject`: `method`, `url`, `headers`, `query`, `cookies`, `payload` and what else light-my-request takes. */
export type InjectOptions = Options;

/** The answer of `app.inject`: `statusCode`, `headers`, `payload`, `json()` and what else light-my-request has. */
export type InjectResponse = Answer;

/** A request as light-my-request makes it: a stream of the payload, with what Node's parser would have told. */
type Blueprint = Readable & Pick<IncomingMessage, 'headers' | 'method' | 'url'> & { readonly socket: { readonly remoteAddress: string } };

interface Sending {
  /** Whether the payload is a stream. */
  readonly streamed: boolean;
  readonly signal: AbortSignal | undefined;
}

/** What answers: an application, the class of its requests, and whether its server has TLS. */
export interface InjectTarget {
  readonly listener: RequestListener;
  readonly Request: new (socket: Socket) => IncomingMessage;
  readonly encrypted: boolean;
}

/**
 * Answers a request without a socket. light-my-request makes its headers and
 * payload, and the result; in between, request and response are the
 * application's own, as its server would have made them, so that all middleware
 * finds what it looks for.
 */
export async function inject(given: string | InjectOptions, target: InjectTarget): Promise<InjectResponse> {
  const options = readOptions(typeof given === 'string' ? { url: given } : given);
  const payload: unknown = options.payload ?? options.body;
  const streamed = typeof payload === 'object' && payload !== null && 'pipe' in payload;
  // Only this function is handed on: given an application with Express's `request` and `response`, the library would change their prototypes.
  const answer = await lightMyRequest().inject((blueprint, res) => dispatch(blueprint as unknown as Blueprint, res, { streamed, signal: options.signal as AbortSignal | undefined }, target), options);
  const { res } = answer.raw;
  Object.assign(answer.raw, { req: res.req });
  // Node works out the length of a body that is sent in one piece; the library tells only what was set.
  const [, length] = /\r\ncontent-length: (\d+)\r\n/i.exec(headSent(res)) ?? [];
  if (length !== undefined) answer.headers['content-length'] ??= length;
  return answer;
}

/** What light-my-request reads. */
const NAMES = [
  'url', 'path', 'method', 'headers', 'query', 'cookies', 'payload', 'body', 'authority', 'remoteAddress', 'server', 'signal', 'simulate', 'validate', 'payloadAsStream', 'Request',
];

/**
 * By name: the library copies an object's own properties alone. By itself it starts in a tick of its own, in which it would throw for options
 * that it refuses: out of reach, and the process would end.
 */
function readOptions(given: InjectOptions): InjectOptions {
  const options: Record<string, unknown> = { autoStart: false };
  for (const name of NAMES) {
    const value = (given as Record<string, unknown>)[name];
    if (value !== undefined) options[name] = value;
  }
  return options;
}

function dispatch(blueprint: Blueprint, res: ServerResponse, { streamed, signal }: Sending, { listener, Request, encrypted }: InjectTarget): void {
  const socket = new InjectedSocket(blueprint, encrypted);
  // The library heeds it only while the payload is not read.
  if (signal !== undefined) addAbortSignal(signal, socket);
  const req = new Request(socket as unknown as Socket);
  const { method, url } = blueprint;
  Object.assign(req, { method, url, httpVersionMajor: 1, httpVersionMinor: 1, httpVersion: '1.1' });
  addHeaderLines(req, headerLines(blueprint, streamed));
  record(res, req, socket);
  // What the application sends goes its own way, as on a server: all that is recorded is what comes to the socket.
  Object.setPrototypeOf(res, ServerResponse.prototype);
  feed(blueprint, req, socket);
  listener(req, res);
}

/** A socket that leads nowhere. Its address and its state are asked for. */
class InjectedSocket extends Duplex {
  readonly remoteAddress: string;
  readonly remotePort = 0;
  readonly remoteFamily = 'IPv4';
  readonly encrypted: boolean;
  readonly #payload: Readable;

  constructor(blueprint: Blueprint, encrypted: boolean) {
    super();
    this.remoteAddress = blueprint.socket.remoteAddress;
    this.encrypted = encrypted;
    this.#payload = blueprint;
  }

  override _read(): void {
    // The payload comes as from a parser, past the socket.
  }

  override _write(_chunk: unknown, _encoding: BufferEncoding, done: () => void): void {
    // A turn later, as a network would: so that who writes much has to wait.
    setImmediate(done);
  }

  /** Requests pause and resume their socket by how fast they are read. */
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

/** Header names and values in turn, with what a client adds to a payload of unknown length. */
function headerLines({ headers }: Blueprint, streamed: boolean): string[] {
  const lines = Object.entries(headers).flatMap(([name, value]) => (typeof value === 'string' ? [name, value] : []));
  const framed = headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined;
  return streamed && !framed ? [...lines, 'transfer-encoding', 'chunked'] : lines;
}

/** Gives the payload to the request as Node's parser does. */
function feed(blueprint: Blueprint, req: IncomingMessage, socket: InjectedSocket): void {
  blueprint.on('data', (chunk: Buffer) => {
    if (!req.push(chunk)) blueprint.pause();
  });
  blueprint.on('end', () => endBody(req));
  // Aborted, or the payload has failed: over a network the connection would be gone.
  blueprint.on('close', () => {
    if (!req.complete) socket.destroy();
  });
  socket.on('close', () => {
    req.destroy(req.complete ? undefined : Object.assign(new Error('aborted'), { code: 'ECONNRESET' }));
  });
}

/** Makes the library's response keep what is sent, whatever prototypes it gets on its way, and end as one of Node's server. */
function record(res: ServerResponse, req: IncomingMessage, socket: InjectedSocket): void {
  const { stream, payloadChunks } = (res as unknown as { _lightMyRequest: { stream?: Readable; payloadChunks?: Buffer[] } })._lightMyRequest;
  // eslint-disable-next-line @typescript-eslint/unbound-method -- they stay methods of the response
  const { writeHead, addTrailers } = Object.getPrototypeOf(res) as ServerResponse;
  const keep = (chunk: unknown, encoding: unknown): void => {
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
      // The head first: with a stream for a payload the library answers by it.
      if (!res.headersSent) res.writeHead(res.statusCode);
      keep(given[0], given[1]);
      const takesMore = (Object.getPrototypeOf(res) as ServerResponse).write.apply(res, given);
      isFull ||= !takesMore;
      return takesMore;
    },
    end(...given: Parameters<ServerResponse['end']>): ServerResponse {
      keep(given[0], given[1]);
      return (Object.getPrototypeOf(res) as ServerResponse).end.apply(res, given);
    },
  });
  // Who listens for errors of a response changes what becomes of them, so the library listens elsewhere.
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
