import { once } from 'node:events';
import { connect as connectPlain, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

/** What is told of a response while it is read. */
export interface Reader {
  /** Its head is here. */
  head?(status: number, fields: string): void;
  /** A part of its body, and how many bytes of it came before. */
  body?(chunk: Buffer, offset: number): void;
  /** The response is whole. */
  end?(): void;
}

/** How a body ends. */
interface Frame {
  /** Bytes of the body, or of the chunk, still to come; NaN where the size of a chunk comes next. */
  left: number;
  readonly chunked: boolean;
}

const EMPTY = Buffer.alloc(0);

/**
 * Connections that are made at once. Where the queue of a listening socket is full (Node's holds 511), Linux answers by
 * SYN cookies, and may reset such a connection at its first bytes: no server would learn of it.
 */
const MOST_CONNECTING = 128;

/** A connection on which requests may be pipelined. It reads by the letter of RFC 9112: a byte that belongs to no response is an error. */
export class Client {
  static #connecting = 0;
  /** Those that are to connect when others have. */
  static readonly #waiting: (() => void)[] = [];
  readonly socket: Socket;
  /** Responses that were read whole. */
  answered = 0;
  /** What went wrong, but for the connection being closed. */
  error: Error | undefined;
  readonly closed: Promise<void>;
  readonly #readers: Reader[] = [];
  #rest: Buffer = EMPTY;
  #frame: Frame | null = null;
  #offset = 0;
  /** Why the system has ended the connection. */
  #reset: string | undefined;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', (error: NodeJS.ErrnoException) => (this.#reset = error.code));
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    this.closed = new Promise((resolve) => void socket.once('close', () => resolve()));
  }

  static async open(port: number, tls = false): Promise<Client> {
    if (this.#connecting === MOST_CONNECTING) await new Promise<void>((go) => this.#waiting.push(go));
    else this.#connecting++;
    const socket = tls ? connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }) : connectPlain({ port, host: '127.0.0.1' });
    const client = new Client(socket);
    try {
      await Promise.race([once(socket, tls ? 'secureConnect' : 'connect'), client.closed]);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#connecting--;
      else next();
    }
    return client;
  }

  /** Whether a response has begun and is not whole. */
  get isWithin(): boolean {
    return this.#frame !== null || this.#rest.length > 0;
  }

  /** Sends a request; the reader is told of its response. */
  send(request: string | Buffer, reader: Reader = {}): void {
    this.#readers.push(reader);
    this.socket.write(request);
  }

  /** Asks, and waits for the whole answer. @throws Error when the connection ends before. */
  async ask(request: string | Buffer): Promise<{ status: number; body: string }> {
    const chunks: Buffer[] = [];
    let status = 0;
    const whole = new Promise<void>((resolve) => {
      this.send(request, { head: (code) => (status = code), body: (chunk) => void chunks.push(chunk), end: resolve });
    });
    const isWhole = await Promise.race([whole.then(() => true), this.closed.then(() => false)]);
    if (!isWhole) throw new Error(`the connection ended within an answer: ${this.error?.message ?? `${this.#reset ?? 'FIN'}, ${this.socket.bytesRead} bytes were read, ${this.socket.bytesWritten} written`}`);
    return { status, body: Buffer.concat(chunks).toString() };
  }

  #take(chunk: Buffer): void {
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    try {
      for (let before = -1; rest.length > 0 && rest.length !== before && this.error === undefined;) {
        before = rest.length;
        rest = this.#frame === null ? this.#head(rest) : this.#body(rest, this.#frame);
      }
    } catch (error) {
      this.error ??= error as Error;
      this.socket.destroy();
    }
    this.#rest = rest;
  }

  #head(bytes: Buffer): Buffer {
    const end = bytes.indexOf('\r\n\r\n');
    if (end === -1) return bytes;
    const reader = this.#readers[0];
    const head = bytes.toString('latin1', 0, end);
    if (!/^HTTP\/1\.1 \d{3} /.test(head) || reader === undefined) throw new Error(`this is no answer: ${JSON.stringify(head.slice(0, 100))}`);
    const status = Number(head.slice(9, 12));
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    const chunked = /\r\ntransfer-encoding: chunked/i.test(head);
    const ends = /\r\nconnection: close/i.test(head);
    if (chunked ? length !== undefined : length === undefined && !ends) throw new Error(`this has no length, or two: ${head}`);
    reader.head?.(status, head);
    this.#offset = 0;
    this.#frame = { left: chunked ? NaN : Number(length ?? Infinity), chunked };
    if (this.#frame.left === 0) this.#end();
    return bytes.subarray(end + 4);
  }

  #body(bytes: Buffer, frame: Frame): Buffer {
    if (Number.isNaN(frame.left)) return this.#chunkSize(bytes, frame);
    const chunk = bytes.subarray(0, frame.left);
    if (chunk.length > 0) this.#readers[0]?.body?.(chunk, this.#offset);
    this.#offset += chunk.length;
    frame.left -= chunk.length;
    if (frame.left === 0) {
      if (!frame.chunked) this.#end();
      else frame.left = NaN;
    }
    return bytes.subarray(chunk.length);
  }

  #chunkSize(bytes: Buffer, frame: Frame): Buffer {
    // The line end of the chunk before stands first, but for the first chunk.
    const start = this.#offset === 0 ? 0 : 2;
    const end = bytes.indexOf('\r\n', start);
    if (end === -1) return bytes;
    const size = bytes.toString('latin1', start, end);
    if (!/^[0-9a-f]+$/i.test(size) || (start === 2 && bytes.toString('latin1', 0, 2) !== '\r\n')) throw new Error(`this is no chunk: ${JSON.stringify(bytes.toString('latin1', 0, 20))}`);
    frame.left = parseInt(size, 16);
    if (frame.left > 0) return bytes.subarray(end + 2);
    if (bytes.length < end + 4) {
      frame.left = NaN;
      return bytes;
    }
    this.#end();
    return bytes.subarray(end + 4);
  }

  #end(): void {
    this.answered++;
    this.#frame = null;
    this.#readers.shift()?.end?.();
  }
}

/** The head of a GET request, with its empty line. */
export function get(target: string, fields = ''): string {
  return `GET ${target} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`;
}

/** The head of a POST request, with its empty line. */
export function post(target: string, fields: string): string {
  return `POST ${target} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`;
}
