import { IncomingMessage } from 'node:http';
import { Duplex, Readable, Stream } from 'node:stream';
import { types } from 'node:util';

/** Kind of object that JSON shows nothing of: its name, and what to write instead, also on a response without `stream`. */
type Kind = readonly [name: string, instead: string, onPlain?: string];

/**
 * The error for what is no data though it looks like it: a stream would be sent as
 * its insides, a promise as `{}`. Undefined for anything that may be data. What is refused is
 * let go: nobody would hear that it has failed, and that would end the process.
 * @param method Name of the method that was called, for the message.
 * @param isPlain Whether the response is one of node:http.
 */
export function unsendable(data: unknown, method: string, isPlain = false): TypeError | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const prototype: unknown = Object.getPrototypeOf(data);
  if (prototype === Object.prototype || prototype === Array.prototype || prototype === null) return undefined;
  const kind = kindOf(data);
  if (kind === undefined) return undefined;
  letGo(data);
  return new TypeError(`${method} cannot send ${kind[0]}: ${(isPlain ? kind[2] : undefined) ?? kind[1]}`);
}

/** True for a Response of fetch, or of a package that has its own. */
export function isFetchResponse(data: unknown): data is globalThis.Response {
  return typeof data === 'object' && data !== null && Object.getPrototypeOf(data) !== Object.prototype && Object.prototype.toString.call(data) === '[object Response]';
}

function kindOf(data: object): Kind | undefined {
  if (types.isPromise(data)) return AWAITED;
  // Data of a class says so by how it is written.
  if (has(data, 'toJSON')) return undefined;
  const known = KINDS.get(Object.prototype.toString.call(data));
  if (known !== undefined) return known;
  if (has(data, 'then')) return AWAITED;
  if (has(data, 'pipe')) return streamed('a stream', 'stream');
  if (has(data, Symbol.asyncIterator)) return streamed('an asynchronous iterable', 'iterable');
  return undefined;
}

function letGo(data: object): void {
  if (types.isPromise(data)) {
    data.then(undefined, ignore);
  } else if (data instanceof Stream) {
    if (data.listenerCount('error') === 0) data.on('error', ignore);
    // Other code may use a connection, a request on it, or a stream being read.
    const isOwn = data instanceof Readable && data.readableFlowing === null && !data.readableDidRead && data.listenerCount('readable') === 0;
    if (isOwn && !(data instanceof Duplex || data instanceof IncomingMessage)) data.destroy();
  }
}

function ignore(this: void): void {
  // It was refused, and that is logged.
}

function streamed(name: string, source: string): Kind {
  return [name, `write res.stream(${source})`, piped(source)];
}

function piped(source: string): string {
  return `write pipeline(${source}, res, callback) of node:stream`;
}

/** True for an object with a method of that name. */
export function has(data: unknown, name: PropertyKey): boolean {
  return typeof data === 'object' && data !== null && typeof (data as Record<PropertyKey, unknown>)[name] === 'function';
}

const AWAITED: Kind = ['a promise', 'await it first'];
const BLOB: Kind = ['a Blob', 'write res.type(blob.type).stream(blob.stream())', piped('blob.stream()')];
const BYTES: Kind = ['an ArrayBuffer', 'write res.send(Buffer.from(buffer))'];

/** By the name that each has by the web's standards: to ask for their classes would have Node load fetch. */
const KINDS: ReadonlyMap<string, Kind> = new Map([
  ['[object ArrayBuffer]', BYTES],
  ['[object SharedArrayBuffer]', BYTES],
  ['[object Blob]', BLOB],
  ['[object File]', BLOB],
  ['[object FormData]', ['a FormData', 'write res.json(Object.fromEntries(form))']],
  ['[object ReadableStream]', streamed('a ReadableStream', 'stream')],
  ['[object Request]', ['a Request of fetch', 'send what was read from it']],
  ['[object Response]', ['a Response of fetch', 'write res.send(response)', `set its status and headers on res, and ${piped('response.body')}`]],
]);
