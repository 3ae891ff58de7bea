import { OutgoingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { Writable } from 'node:stream';
import type { Blocks } from '../xjson/blocks';
import { HEAD_ROOM } from '../xjson/page';
import { type ConfiguredResponse, kOwn } from './response-state';

/**
 * While `end` is under way with a text, or with bytes that have room before
 * them: null until they are on their way to the socket, then what is to be
 * sent; undefined otherwise.
 */
export const kSole = Symbol('waypost.response.sole');
/** The bytes that `end` is under way with where they were written; the head fits before them. */
export const kInPlace = Symbol('waypost.response.inPlace');
const kEncoding = Symbol('waypost.response.soleEncoding');
const kCallback = Symbol('waypost.response.soleCallback');

/** A response that may keep its body for a moment. */
export interface SoleWriting extends ServerResponse {
  [kSole]: string | Buffer | null | undefined;
  [kInPlace]: Buffer | undefined;
  [kEncoding]?: BufferEncoding | undefined;
  [kCallback]?: Callback | undefined;
}

type Callback = (error?: Error | null) => void;

/** What Node's declarations leave out: all that a message sends goes through `_send`, the head before the first of it. */
interface Sender {
  readonly _header: string | null;
  _headerSent: boolean | undefined;
  _send(this: ServerResponse, data: unknown, encoding?: BufferEncoding, callback?: Callback, byteLength?: number): boolean;
}

const node = ServerResponse.prototype as unknown as Sender;

/**
 * Whether `end` sends a text and then an empty one, as in Node 20 and 22. Where
 * it does not, as since Node 24, a text that is kept would be sent too late.
 */
export const endSendsTwice = sendsOf('x').join() === 'x,';

/** What `end` sends of a text. */
function sendsOf(text: string): unknown[] {
  const sends: unknown[] = [];
  const message = Object.assign(new OutgoingMessage(), {
    _header: 'a head that needs no making',
    _send(data: unknown) {
      sends.push(data);
      return true;
    },
  });
  try {
    message.end(text);
  } catch {
    // Something has replaced it that asks for a request or a socket.
    return [];
  }
  return sends;
}

/**
 * The `_send` of responses. Node's `end` sends its text, and then an empty one
 * whose callback tells that all is flushed. Two go to the socket as a vector,
 * which costs a small response a twentieth of its time more than one write. So
 * the text waits until the empty one comes, and takes its callback; its own
 * does nothing then. Whatever else comes, the text goes before it.
 *
 * Of bytes that are sent in place, the head is written into the room before them.
 */
export function send(this: SoleWriting, given: unknown, encoding?: BufferEncoding, callback?: Callback, byteLength?: number): boolean {
  const sole = this[kSole];
  const bytes = this[kInPlace];
  const data = bytes !== undefined && given === bytes ? headed(this, bytes) : given;
  if (sole === undefined) return node._send.call(this, data, encoding, callback, byteLength);
  if (sole === null) {
    if (data === '') {
      this[kSole] = undefined;
      return node._send.call(this, data, encoding, callback, byteLength);
    }
    this[kSole] = data as string | Buffer;
    this[kEncoding] = encoding;
    this[kCallback] = callback;
    return true;
  }
  this[kSole] = undefined;
  if (data === '') return node._send.call(this, sole, this[kEncoding], callback);
  node._send.call(this, sole, this[kEncoding], this[kCallback]);
  return node._send.call(this, data, encoding, callback, byteLength);
}

/** Sends what no empty text has come for, if there is anything, and keeps nothing any more. */
export function sendKept(res: SoleWriting): void {
  const sole = res[kSole];
  res[kSole] = undefined;
  if (sole !== undefined && sole !== null) node._send.call(res, sole, res[kEncoding], res[kCallback]);
}

/** The bytes with the head before them, where there is room for it and it is not sent yet. */
function headed(res: SoleWriting, bytes: Buffer): Buffer {
  const { _header: head, _headerSent: isSent } = res as unknown as Sender;
  if (isSent !== false || typeof head !== 'string' || head.length > HEAD_ROOM) return bytes;
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset - head.length, head.length + bytes.length);
  whole.write(head, 'latin1');
  (res as unknown as Sender)._headerSent = true;
  return whole;
}

/* eslint-disable @typescript-eslint/unbound-method -- compared, never called */
/** As Node has them, to see whether somebody has put others in the way, and keeps what is written. A socket has the `write` of its base class. */
const { end } = OutgoingMessage.prototype;
const { write } = Writable.prototype;
/* eslint-enable @typescript-eslint/unbound-method */

/** A socket, and the server of `node:net` that accepted it: one of TLS, or that a program made, keeps what it is given. */
type AcceptedSocket = Socket & { readonly _server: unknown };

/**
 * Ends a response with a body's bytes where they were written, which saves a
 * body of 10 KB three copies; that memory serves the next body, once the system
 * has taken the bytes, or never will. It has when this returns, unless the
 * client is slow to read. Not where somebody is seen to have put a `write` or
 * an `end` of their own in the way, who may keep what they see.
 * @returns Whether it was ended so.
 */
export function endInPlace(res: SoleWriting & ConfiguredResponse, bytes: Blocks): boolean {
  const socket = res.socket as AcceptedSocket | null;
  if (socket === null || !socket._server || socket.write !== write) return false;
  if (res.end !== res[kOwn].end || ServerResponse.prototype.end !== end) return false;
  const block = bytes.inPlace();
  if (block === null) return false;
  const dispatched = socket.bytesWritten;
  res[kInPlace] = block;
  try {
    res.end(block);
  } finally {
    res[kInPlace] = undefined;
  }
  // What waits anywhere is sent later, from where it is. What the socket has not even seen, head and all, waits with somebody who has put off the end.
  const { _header: head } = res as unknown as Sender;
  if (head !== null && socket.writableLength === 0 && socket.bytesWritten - dispatched >= head.length + block.length) bytes.reuse();
  return true;
}
