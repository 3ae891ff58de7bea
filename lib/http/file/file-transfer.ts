import type { ReadStream, Stats } from 'node:fs';
import { type OutgoingHttpHeader, type OutgoingHttpHeaders, validateHeaderValue } from 'node:http';
import { Socket } from 'node:net';
import { resolve } from 'node:path';
import { toUSVString } from 'node:util';
import type { SendStream } from 'send';
import { HttpError } from '../../errors';
import { onFinished, send } from '../../packages';
import { isAmbiguousPath } from './ambiguous-path';
import { findBeneath } from './confinement';
import { asError, guardStream } from './guarded-stream';
import { checkFileOptions, type SendFileCallback, type SendFileOptions } from './file-options';
import { type KnownFile, KnownFiles } from './known-files';
import { forgetFraming } from '../answer';
import { checkStatus } from '../response-head';
import { type ConfiguredResponse, kOwn, kSettings } from '../response-state';

/** Bytes that a stream of `node:fs` reads at once. */
const AT_ONCE = 65_536;

/** A file's way to a response: `send`, with what it leaves open closed. One use each. */
export class FileTransfer {
  readonly #res: ConfiguredResponse;
  readonly #options: SendFileOptions;
  readonly #done: SendFileCallback;
  readonly #path: string;
  /** What stood on the response just before the file's head was put on it and just behind, so that a failure leaves no word about a file that was not sent. */
  #before: Head | undefined;
  #behind: Head | undefined;
  readonly #files: KnownFiles;
  /** Undefined until the file is found. */
  #known: KnownFile | undefined;
  #size = 0;
  /** Bytes that are to come from the file, whatever middleware makes of Content-Length. */
  #promised = 0;
  #settled = false;
  /** Undefined until the file is found; false while, or when, there is nothing to stream. */
  #streaming: boolean | undefined;

  /** @throws TypeError for a path that is no string, or is relative with no `root`; for wrong options. */
  constructor(res: ConfiguredResponse, path: string, options: SendFileOptions, done: SendFileCallback) {
    checkFileOptions(path, options);
    this.#res = res;
    this.#path = path;
    this.#options = options;
    this.#done = done;
    this.#files = res[kSettings].files ?? new KnownFiles();
  }

  start(): void {
    if (this.#isAmbiguous()) return this.#fail(new HttpError(403, 'EAMBIGUOUS', 'Forbidden'));
    // Only the options `send` knows go on: it hands all it gets to fs.createReadStream.
    const { headers: _, followSymlinks: __, ...known } = this.#options;
    // A lone surrogate is in no file's name, and encodeURI throws for it.
    const file = send()(this.#res.req, encodeURI(toUSVString(this.#path)), known);
    const pipe = file.stream.bind(file);
    file.stream = (path, options) => {
      // Of the first byte and the last, which lies beyond the file where there is nothing to send.
      const { start, end } = options as { start: number; end: number };
      // Closed meanwhile, it would tell nobody to close the file.
      if (this.#res.destroyed) return this.#fail(abortedError());
      this.#promised = Math.max(0, Math.min(end + 1, this.#size) - start);
      if (this.#readsAtOnce()) this.#sendAtOnce(file, path, start);
      else pipe(path, options);
    };
    const proceed = file.send.bind(file);
    file.send = (path: string, stats?: Stats) => {
      // A pipe would hold a thread of Node's few until somebody writes to it.
      if (!(stats as Stats).isFile()) return this.#fail(new HttpError(404, 'EFTYPE', 'The path is no regular file'));
      this.#size = (stats as Stats).size;
      this.#known = this.#files.find(path, stats as Stats);
      this.#confine(file, path, this.#known, () => this.#open(proceed, path, stats));
    };
    file.on('error', (error: Error) => this.#fail(error));
    file.on('directory', () => this.#fail(new HttpError(404, 'EISDIR', 'The path is a directory')));
    file.on('stream', (stream: ReadStream) => this.#watch(stream));
    file.on('end', () => this.#settle());
    file.on('headers', () => {
      for (const [name, value] of Object.entries(this.#options.headers ?? {})) {
        if (value !== undefined) this.#res.setHeader(name, value);
      }
      forgetFraming(this.#res);
    });
    onFinished()(this.#res, (error) => this.#finish(error));
    file.pipe(this.#res);
  }

  #isAmbiguous(): boolean {
    const { req } = this.#res;
    const { originalUrl } = req as { originalUrl?: unknown };
    return Boolean(this.#options.root) && isAmbiguousPath(this.#path, typeof originalUrl === 'string' ? originalUrl : req.url ?? '');
  }

  /** `send` checks names, not where links lead, which stand in a tree by upload or by mistake. */
  #confine(file: SendStream, path: string, known: KnownFile, proceed: () => void): void {
    const { root, followSymlinks } = this.#options;
    if (root === undefined || root === '' || followSymlinks === true) return proceed();
    // Where it stands changes with the directory that the process is in.
    const directory = resolve(root);
    if (known.root === directory) return proceed();
    findBeneath(directory, path, (error, inside) => {
      if (error !== null) return file.onStatError(error);
      if (!inside) return file.error(403);
      known.root = directory;
      proceed();
    });
  }

  /** This runs in a callback of the file system, where nobody else would catch a bad header or status. */
  #open(proceed: SendStream['send'], path: string, stats: Stats | undefined): void {
    if (this.#settled) return;
    this.#streaming = false;
    try {
      // Writing the head would throw for them later, out of reach.
      checkStatus(asNodeHas(this.#res.statusCode));
      if (this.#res.statusMessage) validateHeaderValue('statusMessage', this.#res.statusMessage);
      this.#before = headOf(this.#res);
      proceed(path, stats);
      if (!this.#settled) this.#behind = headOf(this.#res);
    } catch (error) {
      this.#fail(asError(error));
    }
  }

  /**
   * Whether it is no more than a stream would read at once, and nobody has replaced what it would be written with; or nothing:
   * `send` would read a byte, which a file may have by now.
   */
  #readsAtOnce(): boolean {
    const res = this.#res;
    return this.#promised === 0 || this.#promised <= AT_ONCE && res.write === res[kOwn].write && res.end === res[kOwn].end;
  }

  #sendAtOnce(file: SendStream, path: string, start: number): void {
    this.#streaming = true;
    const promised = this.#promised;
    this.#files.read(path, this.#known as KnownFile, start, promised, (error, bytes) => {
      if (this.#settled) return;
      if (this.#res.destroyed) return this.#fail(abortedError());
      if (error !== null) return file.onStatError(error);
      if (bytes.length < promised) return this.#fail(endedEarly(bytes.length, promised));
      this.#end(bytes);
    });
  }

  /** This runs in a callback of the file system, where nobody else would catch what the head is refused for. */
  #end(bytes: Buffer): void {
    const res = this.#res;
    try {
      // As a pipe has it. Made by `end`, the head would have a Content-Disposition in another encoding.
      if (!res.headersSent) res.writeHead(res.statusCode);
      res.end(mayChange(res) ? Buffer.from(bytes) : bytes);
      this.#settle();
    } catch (error) {
      this.#fail(asError(error));
    }
  }

  /** A file cut short meanwhile would leave the client waiting for bytes that the next response would then supply. */
  #watch(stream: ReadStream): void {
    this.#streaming = true;
    guardStream(stream, (error) => {
      this.#res.destroy();
      this.#fail(error);
    });
    const promised = this.#promised;
    stream.on('end', () => {
      if (stream.bytesRead >= promised) return;
      this.#res.destroy();
      this.#fail(endedEarly(stream.bytesRead, promised));
    });
  }

  #finish(error: Error | null): void {
    // As a rule it is by now, which saves every file a turn and an error.
    if (this.#settled) return;
    if (error === null) {
      // The end of the stream may be told after the end of the response.
      setImmediate(() => (this.#streaming === false ? this.#settle() : this.#fail(abortedError())));
      return;
    }
    this.#fail((error as NodeJS.ErrnoException).code === 'ECONNRESET' ? abortedError() : error);
  }

  #fail(error: Error): void {
    if (this.#settled) return;
    try {
      this.#restore();
    } catch {
      // What stands in the place of the response's methods throws; nobody would catch it here, and the answer clears what it must.
    }
    this.#settle(error);
  }

  /** Takes back what the file's head has made of the response, but nothing that the program has put on it meanwhile. */
  #restore(): void {
    const res = this.#res;
    if (res.headersSent) return;
    if (this.#before !== undefined) takeBack(res, this.#before, this.#behind ?? headOf(res));
    // Removing one that is not there would keep Node from working out the length of what is sent instead.
    if (res.hasHeader('Content-Length')) res.removeHeader('Content-Length');
  }

  #settle(error?: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#done(error);
  }
}

/** What a response says before its body. */
interface Head {
  readonly status: number;
  readonly fields: OutgoingHttpHeaders;
}

function headOf(res: ConfiguredResponse): Head {
  const fields = res.getHeaders();
  // Node appends to the very list.
  for (const [name, value] of Object.entries(fields)) if (Array.isArray(value)) fields[name] = [...value];
  return { status: res.statusCode, fields };
}

function isSame(one: OutgoingHttpHeader | undefined, other: OutgoingHttpHeader | undefined): boolean {
  if (!Array.isArray(one) || !Array.isArray(other)) return one === other;
  return one.length === other.length && one.every((each, index) => each === other[index]);
}

/** Has a response be as before, but for what is no longer as it was made. */
function takeBack(res: ConfiguredResponse, before: Head, made: Head): void {
  if (res.statusCode === made.status) res.statusCode = before.status;
  for (const [name, value] of Object.entries(made.fields)) {
    const old = before.fields[name];
    // 416 says with Content-Range how long the file is (RFC 9110 section 15.5.17).
    if (isSame(value, old) || name === 'content-range' || !isSame(value, res.getHeader(name))) continue;
    if (old === undefined) res.removeHeader(name);
    else res.setHeader(name, old);
  }
}

/**
 * Whether what a response is written to may change a buffer in place, as who masks or encrypts it does: an `end` that was put on it as late
 * as with the head, a stream in the socket's place, or what was put on the socket. The bytes of a file are kept for others.
 */
function mayChange(res: ConfiguredResponse): boolean {
  // A response that waits for its turn has none of its own.
  const socket: unknown = res.socket ?? (res.req as { socket?: unknown } | undefined)?.socket;
  return res.end !== res[kOwn].end || !(socket instanceof Socket) || Object.hasOwn(socket, 'write') || Object.hasOwn(socket, 'end');
}

/** Whether the error says only that the client is gone, which is no fault of the server's. */
export function isClientGone(error: NodeJS.ErrnoException): boolean {
  return error.code === 'ECONNABORTED' || error.syscall === 'write';
}

function endedEarly(sent: number, promised: number): Error {
  return new Error(`The file ended after ${sent} of ${promised} bytes`);
}

/** Of a text or a fraction Node makes an integer, as it writes the head. */
function asNodeHas(status: number): number {
  return status | 0;
}

function abortedError(): Error {
  return Object.assign(new Error('The client went away before the file was sent'), { code: 'ECONNABORTED' });
}
