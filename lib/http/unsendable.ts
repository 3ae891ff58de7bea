import { types } from 'node:util';

/** What a program may take for data, and JSON shows nothing of: what it is, and what to write instead. */
type Kind = readonly [name: string, instead: string];

/**
 * The error for what is no data though it looks like it: a stream would be sent
 * as its insides, a promise as `{}`. Undefined for anything that may be data.
 * Plain objects and arrays, which nearly all data are, cost one comparison.
 *
 * @param method Name of the method that was called, for the message.
 */
export function unsendable(data: unknown, method: string): TypeError | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  try {
    const prototype: unknown = Object.getPrototypeOf(data);
    if (prototype === Object.prototype || prototype === Array.prototype || prototype === null) return undefined;
    const kind = kindOf(data);
    return kind && new TypeError(`${method} cannot send ${kind[0]}: ${kind[1]}`);
  } catch {
    // What can't be looked at is for JSON.stringify to refuse.
    return undefined;
  }
}

function kindOf(data: object): Kind | undefined {
  if (types.isPromise(data)) return AWAITED;
  // Data of a class says so by how it is written.
  if (has(data, 'toJSON')) return undefined;
  const known = KINDS.get(Object.prototype.toString.call(data));
  if (known !== undefined) return known;
  if (has(data, 'then')) return AWAITED;
  if (has(data, 'pipe')) return ['a stream', 'write stream.pipe(res), or pipeline(stream, res, callback), which tells of errors'];
  if (has(data, Symbol.asyncIterator)) return ['an asynchronous iterable', 'write Readable.from(iterable).pipe(res)'];
  return undefined;
}

function has(data: object, name: PropertyKey): boolean {
  return typeof (data as Record<PropertyKey, unknown>)[name] === 'function';
}

const AWAITED: Kind = ['a promise', 'await it first'];
const BLOB: Kind = ['a Blob', 'write Readable.fromWeb(blob.stream()).pipe(res)'];
const BYTES: Kind = ['an ArrayBuffer', 'write res.send(Buffer.from(buffer))'];

/** By the name that each has by the web's standards: to ask for their classes would have Node load fetch. */
const KINDS: ReadonlyMap<string, Kind> = new Map([
  ['[object ArrayBuffer]', BYTES],
  ['[object SharedArrayBuffer]', BYTES],
  ['[object Blob]', BLOB],
  ['[object File]', BLOB],
  ['[object FormData]', ['a FormData', 'write res.json(Object.fromEntries(form))']],
  ['[object ReadableStream]', ['a ReadableStream', 'write Readable.fromWeb(stream).pipe(res)']],
  ['[object Request]', ['a Request of fetch', 'send what was read from it']],
  ['[object Response]', ['a Response of fetch', 'set its status and headers on res, and write Readable.fromWeb(response.body).pipe(res)']],
]);
