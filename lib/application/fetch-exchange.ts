import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { addHeaderLines, attach, detach, dropUnread, endBody, leaveUnframed } from '../http/node/injected-message';
import { InjectedSocket } from './inject';

/** Caller of `app.fetch`, as far as it is known. */
export interface FetchInfo {
  /** Address of the client, for `req.ip`. @default none */
  remoteAddress?: string | undefined;
}

/** The application, and the classes of its requests and responses. */
export interface FetchTarget {
  readonly listener: RequestListener;
  readonly Request: new (socket: Socket) => IncomingMessage;
  readonly Response: new (req: IncomingMessage) => ServerResponse;
}

/** Fields of a connection, which a Response has none of. */
const OF_CONNECTIONS = /^(?:connection|keep-alive|transfer-encoding)$/i;
const HEAD_END = '\r\n\r\n';

/** Answers a Request of fetch: the application gets a request of its own class, and what it writes becomes the Response. */
export function answerFetch(request: globalThis.Request, { listener, Request, Response }: FetchTarget, { remoteAddress }: FetchInfo): Promise<globalThis.Response> {
  return new Promise((resolve, reject) => {
    const { body, headers, method, signal, url } = request;
    const { host, pathname, protocol, search } = new URL(url);
    const payload = body === null ? Readable.from([]) : Readable.fromWeb(body);
    const socket = new FetchSocket(Object.assign(payload, { socket: { remoteAddress } }), protocol === 'https:', method === 'HEAD', resolve, reject);
    const req = new Request(socket as unknown as Socket);
    Object.assign(req, { method, url: pathname + search, httpVersionMajor: 1, httpVersionMinor: 1, httpVersion: '1.1' });
    const lines = [...headers].flat();
    if (!headers.has('host')) lines.push('host', host);
    if (body !== null && !headers.has('content-length') && !headers.has('transfer-encoding')) lines.push('transfer-encoding', 'chunked');
    addHeaderLines(req, lines);
    const res = new Response(req);
    leaveUnframed(res);
    attach(res, socket as unknown as Socket);
    res.on('finish', () => {
      socket.finish();
      dropUnread(req);
      payload.destroy();
      detach(res, socket as unknown as Socket);
    });
    payload.on('data', (chunk: Uint8Array) => {
      if (!req.push(chunk)) payload.pause();
    });
    payload.on('end', () => endBody(req));
    payload.on('error', () => socket.destroy());
    socket.on('close', () => {
      payload.destroy();
      if (!req.complete) req.destroy();
    });
    const abort = (): void => void socket.destroy();
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    listener(req, res);
  });
}

/** A socket whose bytes become a Response, as fast as its body is read. */
class FetchSocket extends InjectedSocket {
  readonly #isHead: boolean;
  readonly #resolve: (response: globalThis.Response) => void;
  readonly #reject: (error: unknown) => void;
  /** Bytes of a head that is not in; null behind it. */
  #head: Buffer | null = Buffer.alloc(0);
  #body: ReadableStreamDefaultController<Uint8Array> | undefined;
  #goOn: (() => void) | undefined;

  constructor(payload: ConstructorParameters<typeof InjectedSocket>[0], encrypted: boolean, isHead: boolean, resolve: (response: globalThis.Response) => void, reject: (error: unknown) => void) {
    super(payload, encrypted);
    this.#isHead = isHead;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Ends the body. */
  finish(): void {
    this.#body?.close();
    this.#body = undefined;
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const bytes = this.#head === null ? chunk : this.#behindHead(this.#head, chunk);
    if (bytes === undefined || bytes.length === 0 || this.#body === undefined) return done();
    this.#body.enqueue(bytes);
    if ((this.#body.desiredSize ?? 0) > 0) done();
    else this.#goOn = done;
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    const cut = error ?? Object.assign(new Error('The response was cut off'), { code: 'ECONNRESET' });
    if (this.#head !== null) this.#reject(cut);
    this.#body?.error(cut);
    this.#body = undefined;
    done();
  }

  /** Reads heads, and returns the bytes behind the last: interim ones come before it (RFC 9110 section 15.2). */
  #behindHead(before: Buffer, chunk: Buffer): Buffer | undefined {
    let bytes = Buffer.concat([before, chunk]);
    for (let end = bytes.indexOf(HEAD_END); end !== -1; end = bytes.indexOf(HEAD_END)) {
      const head = bytes.toString('latin1', 0, end);
      bytes = bytes.subarray(end + HEAD_END.length);
      if (head.startsWith('HTTP/1.1 1')) continue;
      this.#head = null;
      this.#answer(head);
      return bytes;
    }
    this.#head = bytes;
    return undefined;
  }

  #answer(head: string): void {
    const [line = '', ...lines] = head.split('\r\n');
    const [, status = '', statusText = ''] = /^HTTP\/1\.1 (\d+) ?(.*)$/.exec(line) ?? [];
    const fields = lines.map((each): [string, string] => [each.slice(0, each.indexOf(':')), each.slice(each.indexOf(':') + 1).trim()]);
    const headers = new Headers(fields.filter(([name]) => !OF_CONNECTIONS.test(name)));
    const hasBody = !this.#isHead && !['204', '205', '304'].includes(status);
    const body = hasBody ? new ReadableStream<Uint8Array>({ start: (controller) => void (this.#body = controller), pull: () => this.#pull(), cancel: () => void this.destroy() }) : null;
    try {
      this.#resolve(new globalThis.Response(body, { status: Number(status), statusText, headers }));
    } catch (error) {
      // A status that no Response has.
      this.#reject(error);
      this.destroy();
    }
  }

  #pull(): void {
    const done = this.#goOn;
    this.#goOn = undefined;
    done?.();
  }
}
