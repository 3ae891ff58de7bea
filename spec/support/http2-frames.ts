import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Types of frames (RFC 9113 section 6). */
export const DATA = 0, HEADERS = 1, PRIORITY = 2, RST_STREAM = 3, SETTINGS = 4, PUSH_PROMISE = 5, PING = 6, GOAWAY = 7, WINDOW_UPDATE = 8, CONTINUATION = 9;
/** Flags of frames. */
export const END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8, WITH_PRIORITY = 32;
/** Codes of errors (RFC 9113 section 7). */
export const NO_ERROR = 0, PROTOCOL_ERROR = 1, INTERNAL_ERROR = 2, FLOW_CONTROL_ERROR = 3, STREAM_CLOSED = 5, FRAME_SIZE_ERROR = 6, REFUSED_STREAM = 7, CANCEL = 8, COMPRESSION_ERROR = 9, ENHANCE_YOUR_CALM = 11;

/** The first bytes of a client (RFC 9113 section 3.4). */
export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export type Fields = readonly (readonly [name: string, value: string])[];

/** A frame as it was received. */
export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly id: number;
  readonly payload: Buffer;
}

/** A frame with that payload, whatever its length may be. */
export function frame(type: number, flags: number, id: number, payload: Buffer | string = '', length = Buffer.byteLength(payload)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, Buffer.from(payload)]);
}

export function uint32(...values: readonly number[]): Buffer {
  return Buffer.concat(values.map((value) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  }));
}

/** A header block of literal fields that are not indexed (RFC 7541 section 6.2.2). */
export function block(fields: Fields): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  const prefix: number[] = [];
  let { length } = bytes;
  if (length < 127) prefix.push(length);
  else {
    prefix.push(127);
    for (length -= 127; length >= 128; length >>= 7) prefix.push((length & 127) | 128);
    prefix.push(length);
  }
  return Buffer.concat([Buffer.from(prefix), bytes]);
}

/** The fields of a request, those of a colon first. */
export function asking(path: string, { method = 'GET', scheme = 'http', authority = 'localhost', fields = [] }: { method?: string; scheme?: string; authority?: string; fields?: Fields } = {}): Fields {
  return [[':method', method], [':scheme', scheme], [':authority', authority], [':path', path], ...fields];
}

/** A HEADERS frame of these fields. */
export function headers(id: number, fields: Fields, flags: number = END_HEADERS | END_STREAM): Buffer {
  return frame(HEADERS, flags, id, block(fields));
}

export function data(id: number, payload: Buffer | string, flags = 0): Buffer {
  return frame(DATA, flags, id, payload);
}

export function settings(...entries: readonly (readonly [id: number, value: number])[]): Buffer {
  return frame(SETTINGS, 0, 0, Buffer.concat(entries.map(([id, value]) => Buffer.concat([uint32(id).subarray(2), uint32(value)]))));
}

export function reset(id: number, code = CANCEL): Buffer {
  return frame(RST_STREAM, 0, id, uint32(code));
}

export function windowUpdate(id: number, increment: number): Buffer {
  return frame(WINDOW_UPDATE, 0, id, uint32(increment));
}

export function ping(payload = '12345678', flags = 0): Buffer {
  return frame(PING, flags, 0, payload);
}

/** Statuses of the static table (RFC 7541 appendix A), from its eighth entry on. */
const STATUSES = [200, 204, 206, 304, 400, 404, 500];

/** The status of a block whose encoder has no dynamic table: its first field, indexed or with a Huffman code of three digits. */
export function statusOf({ payload }: Frame): number {
  // An update of the table's size comes first.
  let at = 0;
  while (((payload[at] as number) & 0xe0) === 0x20) at++;
  const first = payload[at] as number;
  if (first >= 0x88 && first <= 0x8e) return STATUSES[first - 0x88] as number;
  const length = (payload[at + 1] as number) & 127;
  const value = payload.subarray(at + 2, at + 2 + length);
  if (((payload[at + 1] as number) & 128) === 0) return Number(value.toString());
  let bits = [...value].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let digits = '';
  while (digits.length < 3) {
    const isShort = bits.startsWith('000');
    digits += String(isShort ? parseInt(bits.slice(0, 5), 2) : parseInt(bits.slice(0, 6), 2) - 0b011001 + 3);
    bits = bits.slice(isShort ? 5 : 6);
  }
  return Number(digits);
}

/** A connection whose client sends frames as they are given, right or wrong. It acknowledges nothing by itself. */
export class FrameClient {
  readonly socket: Socket;
  /** All frames that were received. */
  readonly frames: Frame[] = [];
  isClosed = false;
  #rest: Buffer = Buffer.alloc(0);
  #heard: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#take(chunk));
    for (const event of ['end', 'close']) {
      socket.on(event, () => {
        this.isClosed = true;
        this.#heard();
      });
    }
  }

  /** Connects, and sends preface and settings; with no dynamic table statuses can be read. */
  static async open(port: number, given: readonly (readonly [id: number, value: number])[] = []): Promise<FrameClient> {
    const client = await FrameClient.bare(port);
    client.send(PREFACE, settings([1, 0], ...given));
    return client;
  }

  /** Connects, and sends nothing. */
  static async bare(port: number): Promise<FrameClient> {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    await once(socket, 'connect');
    return new FrameClient(socket);
  }

  /** Sends all by one write. */
  send(...bytes: readonly Buffer[]): void {
    if (this.socket.writable) this.socket.write(Buffer.concat(bytes));
  }

  /** The first frame, received or to come, of which that holds; undefined once the server has ended the connection without one. */
  async find(holds: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (;;) {
      const found = this.frames.find(holds);
      if (found !== undefined || this.isClosed) return found;
      await this.#more();
    }
  }

  /** The answer's head, or the reset, of a stream; or the end of the connection. */
  async outcome(id: number): Promise<string> {
    const found = await this.find((received) => (received.id === id && (received.type === HEADERS || received.type === RST_STREAM)) || (received.type === GOAWAY && received.payload.readUInt32BE(4) !== NO_ERROR));
    if (found === undefined) return 'closed';
    if (found.type === HEADERS) return `answered ${statusOf(found)}`;
    return found.type === RST_STREAM ? `stream error ${found.payload.readUInt32BE(0)}` : `connection error ${found.payload.readUInt32BE(4)}`;
  }

  /** How a stream has ended: whole, or by a reset; or the end of the connection. */
  async end(id: number): Promise<string> {
    const found = await this.find((received) => received.id === id && (received.type === RST_STREAM || (received.type <= HEADERS && (received.flags & END_STREAM) !== 0)));
    if (found === undefined) return 'closed';
    return found.type === RST_STREAM ? `reset ${found.payload.readUInt32BE(0)}` : 'whole';
  }

  /** The body of a stream as far as it has come. */
  body(id: number): Buffer {
    return Buffer.concat(this.frames.filter((received) => received.id === id && received.type === DATA).map(({ payload }) => payload));
  }

  /** Until the server has ended the connection. */
  async closed(): Promise<void> {
    while (!this.isClosed) await this.#more();
  }

  /** True once the server has answered a PING, that is, has read all before it. */
  async isAlive(): Promise<boolean> {
    const payload = `alive${String(this.frames.length).padStart(3, '0').slice(-3)}`;
    this.send(ping(payload));
    return (await this.find(({ type, payload: received }) => type === PING && received.toString() === payload)) !== undefined;
  }

  destroy(): void {
    this.socket.destroy();
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      const before = this.#heard;
      this.#heard = (): void => {
        before();
        resolve();
      };
    });
  }

  #take(chunk: Buffer): void {
    let rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (rest.length >= 9) {
      const length = rest.readUIntBE(0, 3);
      if (rest.length < 9 + length) break;
      this.frames.push({ type: rest[3] as number, flags: rest[4] as number, id: rest.readUInt32BE(5) & 0x7fffffff, payload: rest.subarray(9, 9 + length) });
      rest = rest.subarray(9 + length);
    }
    this.#rest = rest;
    const heard = this.#heard;
    this.#heard = () => undefined;
    heard();
  }
}
