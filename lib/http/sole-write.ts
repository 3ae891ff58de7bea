import { OutgoingMessage, ServerResponse } from 'node:http';

/**
 * While `end` is under way with a text: null until the text is on its way to
 * the socket, then the text; undefined otherwise.
 */
export const kSole = Symbol('waypost.response.sole');
const kEncoding = Symbol('waypost.response.soleEncoding');
const kCallback = Symbol('waypost.response.soleCallback');

/** A response that may keep its text for a moment. */
export interface SoleWriting extends ServerResponse {
  [kSole]: string | null | undefined;
  [kEncoding]?: BufferEncoding | undefined;
  [kCallback]?: Callback | undefined;
}

type Callback = (error?: Error | null) => void;

/** What Node's declarations leave out: all that a message sends goes through here, the head before the first of it. */
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
  const text = this[kSole];
  if (text === undefined) return node._send.call(this, data, encoding, callback, byteLength);
  if (text === null) {
    if (typeof data !== 'string' || data === '') {
      this[kSole] = undefined;
      return node._send.call(this, data, encoding, callback, byteLength);
    }
    this[kSole] = data;
    this[kEncoding] = encoding;
    this[kCallback] = callback;
    return true;
  }
  this[kSole] = undefined;
  if (data === '') return node._send.call(this, text, this[kEncoding], callback);
  node._send.call(this, text, this[kEncoding], this[kCallback]);
  return node._send.call(this, data, encoding, callback, byteLength);
}

/** Sends a text that no empty one has come for, if there is one, and keeps none any more. */
export function sendKept(res: SoleWriting): void {
  const text = res[kSole];
  res[kSole] = undefined;
  if (typeof text === 'string') node._send.call(res, text, res[kEncoding], res[kCallback]);
}
