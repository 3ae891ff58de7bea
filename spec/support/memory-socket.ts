import type { Server } from 'node:http';
import { Duplex } from 'node:stream';

/** A request as it goes to the server, head and body, a character a byte. */
export interface Written {
  readonly method: string;
  readonly text: string;
}

/**
 * A connection without a network: the server's end of it, handed to the server
 * by its `connection` event as Node documents. Requests are pipelined.
 */
export class MemorySocket extends Duplex {
  #text = '';
  #methods: readonly string[] = [];
  #answers: number[] = [];
  #settle: ((answers: number[]) => void) | null = null;

  /** Sends requests on a connection of their own; answers as many as were answered before the server closed it. */
  static send(server: Server, requests: readonly Written[]): Promise<number[]> {
    const socket = new MemorySocket();
    // Each request in the pipeline adds its own.
    socket.setMaxListeners(0);
    const answered = new Promise<number[]>((resolve) => {
      socket.#settle = resolve;
    });
    socket.#methods = requests.map(({ method }) => method);
    socket.on('error', () => undefined);
    socket.on('close', () => socket.#end());
    server.emit('connection', socket);
    socket.push(Buffer.from(requests.map(({ text }) => text).join(''), 'latin1'));
    return answered;
  }

  override _read(): void {
    // Everything was pushed at once.
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#text += chunk.toString('latin1');
    done();
    while (this.#takeAnswer());
    if (this.#answers.length === this.#methods.length) this.#end();
  }

  override _final(done: () => void): void {
    done();
    this.#end();
  }

  #takeAnswer(): boolean {
    const end = this.#text.indexOf('\r\n\r\n');
    if (end === -1 || this.#answers.length === this.#methods.length) return false;
    const head = this.#text.slice(0, end);
    const bodiless = this.#methods[this.#answers.length] === 'HEAD';
    const length = bodiless ? 0 : Number(/\r\ncontent-length: (\d+)/i.exec(head)?.[1] ?? 0);
    if (this.#text.length < end + 4 + length) return false;
    // Node's own 400, for what is no request, is no answer to one.
    if (/^HTTP\/1.1 400 Bad Request\r\nConnection: close$/.test(head)) return false;
    this.#answers.push(Number(head.slice(9, 12)));
    this.#text = this.#text.slice(end + 4 + length);
    return true;
  }

  #end(): void {
    const settle = this.#settle;
    this.#settle = null;
    if (settle === null) return;
    settle(this.#answers);
    // Not before the server has seen its last response off: it would take it for one that was cut short.
    setImmediate(() => this.destroy());
  }
}
