import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Sent } from './program';

/** A response, read off the wire. */
export interface Received {
  readonly status: number;
  readonly body: string;
}

/** How long an answer may take, in milliseconds. */
const PATIENCE = 5_000;

/** One connection on which requests are pipelined (RFC 9112 section 9.3.2): all are sent at once, answers come in order. */
export class Pipeline {
  readonly #socket: Socket;
  #text = '';
  #methods: string[] = [];
  #received: Received[] = [];
  #settle: { resolve: (received: Received[]) => void; reject: (error: Error) => void } | null = null;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1').setNoDelay(true);
    socket.on('data', (chunk: string) => this.#read(chunk));
    // A walk that never ends must not take the whole run with it.
    socket.setTimeout(PATIENCE, () => socket.destroy(new Error(`no answer within ${PATIENCE} ms`)));
    socket.on('error', (error) => this.#settle?.reject(error));
    socket.on('close', () => this.#settle?.reject(new Error('the server closed the connection')));
  }

  static async open(port: number): Promise<Pipeline> {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return new Pipeline(socket);
  }

  /** Whether requests can still be sent. */
  get usable(): boolean {
    return this.#settle === null && this.#socket.writable;
  }

  async send(requests: readonly Sent[]): Promise<Received[]> {
    const received = new Promise<Received[]>((resolve, reject) => {
      this.#settle = { resolve, reject };
      this.#methods = requests.map(({ method }) => method);
      this.#received = [];
    });
    // The last answer may be here before the last body is out.
    await Promise.all([received, this.#write(requests)]);
    return received;
  }

  /** All at once, but for bodies that are to come in a packet of their own. */
  async #write(requests: readonly Sent[]): Promise<void> {
    let text = '';
    for (const { method, url, body, apart } of requests) {
      const fields = body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
      text += `${method} ${url} HTTP/1.1\r\nHost: localhost\r\n${fields}\r\n`;
      if (apart === true) {
        this.#socket.write(text, 'latin1');
        text = '';
        await new Promise(setImmediate);
      }
      text += body ?? '';
    }
    if (text !== '') this.#socket.write(text, 'latin1');
  }

  close(): void {
    this.#settle = null;
    this.#socket.destroy();
  }

  #read(chunk: string): void {
    this.#text += chunk;
    while (this.#received.length < this.#methods.length) {
      const end = this.#text.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = this.#text.slice(0, end);
      const bodiless = this.#methods[this.#received.length] === 'HEAD';
      const length = bodiless ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1]);
      const after = end + 4 + length;
      if (this.#text.length < after) return;
      this.#received.push({ status: Number(head.slice(9, 12)), body: this.#text.slice(end + 4, after) });
      this.#text = this.#text.slice(after);
    }
    const settle = this.#settle;
    this.#settle = null;
    settle?.resolve(this.#received);
  }
}
