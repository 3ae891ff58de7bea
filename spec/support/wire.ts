import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request, type RequestOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** A response as it came over the wire. */
export class Answer {
  constructor(
    readonly status: number,
    readonly headers: IncomingHttpHeaders,
    readonly bytes: Buffer,
  ) {}

  get body(): string {
    return this.bytes.toString();
  }

  get json(): unknown {
    return JSON.parse(this.body);
  }
}

export interface Question extends RequestOptions {
  body?: string | Uint8Array;
}

/** Sends one request on a connection of its own, unless an agent is given. */
export async function ask(port: number, path: string, question: Question = {}): Promise<Answer> {
  const { body, ...options } = question;
  const sent = request({ host: '127.0.0.1', port, agent: false, path, ...options });
  sent.end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return new Answer(response.statusCode ?? 0, response.headers, await buffer(response));
}

/** Sends a body of that type by POST. */
export function post(port: number, path: string, body: string | Uint8Array, type = 'application/json', headers: Record<string, string> = {}): Promise<Answer> {
  return ask(port, path, { method: 'POST', body, headers: { 'content-type': type, 'content-length': String(Buffer.byteLength(body)), ...headers } });
}

/** A bare connection: what is written goes out as it stands, what comes back is kept. */
export class Wire {
  /** Everything received, a character a byte. */
  text = '';
  /** Whether the server has ended or cut the connection. */
  ended = false;
  /** Resolves when the server has ended or cut the connection. */
  readonly end: Promise<void>;
  readonly #socket: Socket;
  #heard: () => void = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding('latin1');
    socket.on('data', (chunk: string) => {
      this.text += chunk;
      this.#heard();
    });
    socket.on('error', () => undefined);
    this.end = new Promise((resolve) => {
      const over = (): void => {
        this.ended = true;
        this.#heard();
        resolve();
      };
      socket.on('end', over);
      socket.on('close', over);
    });
  }

  static async open(port: number): Promise<Wire> {
    const socket = connect({ port, host: '127.0.0.1' });
    const wire = new Wire(socket);
    await once(socket, 'connect');
    return wire;
  }

  /** Opens a connection, writes, and answers all that came back until the server closed it. */
  static async tell(port: number, text: string | Uint8Array): Promise<string> {
    const wire = await Wire.open(port);
    wire.write(text);
    await wire.end;
    return wire.text;
  }

  write(data: string | Uint8Array): this {
    this.#socket.write(data);
    return this;
  }

  /** Waits for the text, and fails when the connection ends without it. */
  async until(part: string | RegExp): Promise<void> {
    while (!(typeof part === 'string' ? this.text.includes(part) : part.test(this.text))) {
      if (this.ended) throw new Error(`the connection ended before ${String(part)} came; it sent ${JSON.stringify(this.text)}`);
      await new Promise<void>((resolve) => {
        this.#heard = resolve;
      });
    }
  }

  /** Waits until what was written is out. */
  flushed(): Promise<void> {
    return new Promise((resolve) => void this.#socket.write('', () => resolve()));
  }

  /** Stops reading. */
  pause(): this {
    this.#socket.pause();
    return this;
  }

  /** Reads on. */
  resume(): this {
    this.#socket.resume();
    return this;
  }

  /** Says that nothing more will come, and reads on. */
  finish(): void {
    this.#socket.end();
  }

  /** Closes the client's side at once. */
  cut(): void {
    this.#socket.destroy();
  }

  /** Closes the client's side as a reset. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }
}

/** The head of a request, with its empty line; `Host` is added. */
export function head(line: string, headers: Readonly<Record<string, string | number>> = {}): string {
  const fields = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line} HTTP/1.1\r\nHost: localhost\r\n${fields.join('')}\r\n`;
}

/** Resolves when a count has begun and no longer rises: nobody reads what is counted. */
export async function stalled(count: () => number): Promise<void> {
  let before = -1;
  while (count() === 0 || count() !== before) {
    before = count();
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
  }
}
