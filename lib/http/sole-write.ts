import { OutgoingMessage, ServerResponse } from 'node:http';

/**
 * While `end` is under way with a text: null until it is on its way to the
 * socket, then what is to be sent; undefined otherwise.
 */
export const kSole = Symbol('waypost.response.sole');
const kEncoding = Symbol('waypost.response.soleEncoding');
const kCallback = Symbol('waypost.response.soleCallback');

/** A response that may keep its body for a moment. */
export interface SoleWriting extends ServerResponse {
  [kSole]: string | null | undefined;
  [kEncoding]?: BufferEncoding | undefined;
  [kCallback]?: Callback | undefined;
}

type Callback = (error?: Error | null) => void;

/** What Node's declarations leave out: all that a message sends goes through `_send`, the head before the first of it. */
interface Sender {
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
 */
export function send(this: SoleWriting, data: unknown, encoding?: BufferEncoding, callback?: Callback, byteLength?: number): boolean {
  const sole = this[kSole];
  if (sole === undefined) return node._send.call(this, data, encoding, callback, byteLength);
  if (sole === null) {
    if (data === '') {
      this[kSole] = undefined;
      return node._send.call(this, data, encoding, callback, byteLength);
    }
    this[kSole] = data as string;
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
