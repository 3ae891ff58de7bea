import { connect, type Socket } from 'node:net';

/** A request as it stands on the wire, and the status that its answer must have. */
export interface WireRequest {
  readonly text: string;
  readonly status: number;
}

/** Time without a byte after which a connection is given up, in milliseconds. */
const SILENCE = 30_000;
const LAST_CHUNK = '0\r\n\r\n';

/** A connection of this process that is kept; it sends one request after another. */
export class Connection {
  readonly #socket: Socket;
  #status = 0;
  #head = '';
  /** Bytes of the body that are still to come; undefined before the head has, Infinity where it is chunked. */
  #left: number | undefined;
  #tail = '';
  #resolve: (() => void) | undefined;
  #reject: ((error: Error) => void) | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => this.#receive(chunk));
    socket.on('error', (error) => this.#fail(error));
    socket.on('close', () => this.#fail(new Error('the server closed a connection that it should keep')));
  }

  /** @throws Error of the system, such as EMFILE where more files are open than `ulimit -n` allows. */
  static async open(port: number): Promise<Connection> {
    return new Connection(await opened(connect({ port, host: '127.0.0.1', noDelay: true })));
  }

  get isOpen(): boolean {
    return !this.#socket.destroyed && this.#socket.readable;
  }

  /** Sends the request and waits for all of the answer. @throws Error when that has another status. */
  ask({ text, status }: WireRequest): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#status = status;
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket.write(text);
    });
  }

  /** Lets it rest for as long as it likes. */
  rest(): void {
    this.#socket.setTimeout(0);
  }

  close(): void {
    this.#socket.destroy();
  }

  #receive(chunk: Buffer): void {
    const body = this.#left === undefined ? this.#bodyBehindHead(chunk) : chunk;
    if (body === undefined || this.#left === undefined) return;
    if (this.#left === Infinity) {
      this.#tail = (this.#tail + body.subarray(-LAST_CHUNK.length).toString('latin1')).slice(-LAST_CHUNK.length);
      if (this.#tail !== LAST_CHUNK) return;
    } else {
      this.#left -= body.length;
      if (this.#left > 0) return;
    }
    this.#left = undefined;
    this.#tail = '';
    this.#resolve?.();
  }

  /** What of the chunk belongs to the body, once the head is whole. */
  #bodyBehindHead(chunk: Buffer): Buffer | undefined {
    this.#head += chunk.toString('latin1');
    const end = this.#head.indexOf('\r\n\r\n');
    if (end === -1) return undefined;
    const head = this.#head.slice(0, end);
    const behind = this.#head.length - end - 4;
    this.#head = '';
    if (!head.startsWith(`HTTP/1.1 ${this.#status}`)) {
      this.#fail(new Error(`the answer begins with ${JSON.stringify(head.slice(0, 80))} instead of status ${this.#status}`));
      return undefined;
    }
    const length = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1];
    this.#left = length === undefined ? Infinity : Number(length);
    return chunk.subarray(chunk.length - behind);
  }

  #fail(error: Error): void {
    this.#reject?.(error);
    this.#socket.destroy();
  }
}

/**
 * Sends requests over that many connections, each of which takes the next when it is answered.
 * @param next Gives the request of that number; undefined ends the load.
 * @returns how many were answered.
 */
export async function askOver(port: number, connections: number, next: (index: number) => WireRequest | undefined): Promise<number> {
  let asked = 0;
  const opened = await Promise.all(Array.from({ length: connections }, () => Connection.open(port)));
  try {
    await Promise.all(opened.map(async (connection) => {
      for (let request = next(asked); request !== undefined; request = next(asked)) {
        asked++;
        await connection.ask(request);
      }
    }));
  } finally {
    for (const connection of opened) connection.close();
  }
  return asked;
}

/** Opens that many connections and sends one request over each. The caller closes them. */
export async function openMany(port: number, count: number, request: WireRequest): Promise<readonly Connection[]> {
  const open: Connection[] = [];
  // The system queues some hundred connections that no one has accepted.
  const BATCH = 100;
  while (open.length < count) {
    open.push(...await Promise.all(Array.from({ length: Math.min(BATCH, count - open.length) }, async () => {
      const connection = await Connection.open(port);
      await connection.ask(request);
      connection.rest();
      return connection;
    })));
  }
  return open;
}

/** Sends each of that many requests over a connection of its own, which the server ends; so many at a time. */
export async function askEach(port: number, count: number, atOnce: number, request: WireRequest): Promise<void> {
  let asked = 0;
  await Promise.all(Array.from({ length: atOnce }, async () => {
    while (asked < count) await askOnce(port, asked++, request);
  }));
}

/** Ports of a connection that is closed are free again only after a minute, so the addresses take turns where all of 127.0.0.0/8 is this machine. */
const ADDRESSES = process.platform === 'linux' ? 100 : 1;

async function askOnce(port: number, index: number, { text, status }: WireRequest): Promise<void> {
  const socket = await opened(connect({ port, host: '127.0.0.1', localAddress: `127.0.0.${1 + (index % ADDRESSES)}`, noDelay: true }));
  return new Promise((resolve, reject) => {
    let answered: Buffer | undefined;
    socket.on('data', (chunk) => { answered ??= chunk; });
    socket.on('error', reject);
    socket.on('close', () => {
      if (answered?.toString('latin1').startsWith(`HTTP/1.1 ${status}`) === true) resolve();
      else reject(new Error(`a connection of its own was answered ${JSON.stringify(answered?.toString('latin1').slice(0, 80))}`));
    });
    socket.write(text);
  });
}

function opened(socket: Socket): Promise<Socket> {
  return new Promise((resolve, reject) => {
    socket.setTimeout(SILENCE, () => socket.destroy(new Error(`the server said nothing for ${SILENCE / 1000} s`)));
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.removeListener('error', reject);
      resolve(socket);
    });
  });
}
