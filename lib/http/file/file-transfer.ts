import type { ReadStream, Stats } from 'node:fs';
import { type IncomingMessage, ServerResponse, validateHeaderValue } from 'node:http';
import type { SendOptions, SendStream } from 'send';
import { HttpError } from '../../errors';
import { onFinished, send } from '../../packages';
import { findBeneath } from './confinement';
import { type Head, headOf, takeBack } from './file-head';
import { asError, guardPipe } from './file-pipe';
import type { KnownFile, KnownFiles } from './known-files';
import { forgetFraming, forgetLength } from '../answer';
import { keepFileForSigner } from '../cache-control';
import { closeWithConnection } from '../connection';
import { fileTag, isRangeFresh, withWholeTags } from '../etag';
import { hearPipe } from '../first-answer';
import { fittedRange } from '../range';
import { checkStatus } from '../response-head';
import { kOwn, type OwnMethods } from '../response-state';
import { setImmediate } from '../../timers';

/** Bytes that a stream of `node:fs` reads at once. */
const AT_ONCE = 65_536;

/** Thrown to have `send` stop where something has answered in the file's place. */
const ANSWERED = new Error('Answered in the place of a file');

/** A response that may be another framework's, which has not what an application's own have. */
export type FileResponse = ServerResponse & { readonly [kOwn]?: OwnMethods };

/** Order to send a file: for which request, and how. */
export interface FileOrder {
  /** Request whose conditions and range count. */
  readonly req: IncomingMessage;
  /** Percent-encoded, as in a URL. */
  readonly path: string;
  /** Those that `send` knows alone: it hands all it gets to fs.createReadStream. */
  readonly options: SendOptions;
  /** Directory that no link may lead out of, absolute; undefined where links may lead anywhere. */
  readonly within: string | undefined;
  /** Cache of known files. */
  readonly files: KnownFiles;
  /** Adds to the head of a file that is found, or answers in its place. */
  addHead(path: string, stats: Stats, file: SendStream): void;
  /** Answers for a directory. */
  takeDirectory(file: SendStream): void;
}

/**
 * How a transfer ends: `sent`; `refused`, by `send` or the file system: no such file, none that can be read, or a condition that isn't met;
 * `gone`, the client is; `failed`, by what the program has thrown, a file cut short, or the connection. Told apart by where an error comes
 * from, since one of the program's may look like any other; only of the end of a connection by its code.
 */
export type TransferEnd = 'failed' | 'gone' | 'refused' | 'sent';

/** Told once how a transfer ends, and by which error, unless the file is sent. */
export type TransferCallback = (end: TransferEnd, error?: Error) => void;

/** A file's way to a response: `send`, with what it leaves open closed. One use each. */
export class FileTransfer {
  readonly #res: FileResponse;
  readonly #order: FileOrder;
  readonly #done: TransferCallback;
  /** Response heads just before and just after the file's head was set. A failure takes the file's head back, so that nothing is said about a file that was not sent. */
  #before: Head | undefined;
  #behind: Head | undefined;
  /** Undefined until the file is found. */
  #known: KnownFile | undefined;
  #size = 0;
  /** Bytes that are to come from the file, whatever middleware makes of Content-Length. */
  #promised = 0;
  #settled = false;
  /** Undefined until the file is found; false while, or when, there is nothing to stream. */
  #streaming: boolean | undefined;
  #stream: ReadStream | undefined;

  constructor(res: FileResponse, order: FileOrder, done: TransferCallback) {
    this.#res = res;
    this.#order = order;
    this.#done = done;
  }

  /** True once there is a file to send. */
  get isFound(): boolean {
    return this.#known !== undefined;
  }

  /** @throws what `send` throws for wrong options. */
  start(): void {
    const { req, path: name, options, files } = this.#order;
    const file = send()(req, name, options);
    // By RFC 9110 section 13.1.5: `send` takes a weak tag, a part of one, and an earlier date.
    Object.assign(file, { isRangeFresh: () => isRangeFresh(req, this.#res) });
    const pipe = file.stream.bind(file);
    file.stream = (path, part) => {
      // First and last byte; the last lies beyond the file where there is nothing to send.
      const { start, end } = part as { start: number; end: number };
      // Closed meanwhile, it would tell nobody to close the file.
      if (this.#res.destroyed) return this.#loseClient();
      this.#promised = Math.max(0, Math.min(end + 1, this.#size) - start);
      if (this.#readsAtOnce()) this.#sendAtOnce(file, path, start);
      else pipe(path, part);
    };
    const proceed = file.send.bind(file);
    file.send = (path: string, stats?: Stats) => {
      // A pipe would hold a thread of Node's few until somebody writes to it.
      if (!(stats as Stats).isFile()) return this.refuse(new HttpError(404, 'EFTYPE', 'The path is no regular file'));
      this.#size = (stats as Stats).size;
      const known = (this.#known = files.find(path, stats as Stats));
      this.#attempt(() => {
        Object.assign(file, { req: this.#readable() });
        this.#hearEnd();
        this.#confine(file, path, known, () => this.#open(proceed, path, stats));
      });
    };
    file.on('error', (error: Error) => this.refuse(error));
    file.on('directory', () => this.#attempt(() => {
      this.#before = headOf(this.#res);
      this.#order.takeDirectory(file);
    }));
    file.on('stream', (stream: ReadStream) => this.#watch(stream));
    file.on('end', () => this.#settle('sent'));
    file.on('headers', (_: unknown, path: string, stats: Stats) => {
      this.#order.addHead(path, stats, file);
      if (this.#res.writableEnded) {
        this.#settle('sent');
        throw ANSWERED;
      }
      keepFileForSigner(this.#res, () => !this.#settled);
      forgetFraming(this.#res);
      // Middleware that replaces `write` may make other bytes of the file's, such as fewer: the tag of `send` is weak.
      if (this.#order.options.etag !== false && !this.#res.hasHeader('ETag') && this.#res.write === (this.#res[kOwn] ?? ServerResponse.prototype).write) this.#res.setHeader('ETag', fileTag(stats));
      // The program may have set a tag just now.
      Object.assign(file, { req: this.#readable() });
    });
    file.pipe(this.#res);
  }

  /** The request as `send` understands it: it takes other tags and ranges for what RFC 9110 has. */
  #readable(): IncomingMessage {
    const { req, options: { start = 0, end = Infinity } } = this.#order;
    const { range } = req.headers;
    const fitted = range && fittedRange(range, Math.max(0, Math.min(this.#size - start, end - start + 1)));
    const headers = withWholeTags(req.headers, this.#res.getHeader('etag'));
    return headers === req.headers && fitted === range ? req : Object.create(req, { headers: { value: { ...headers, range: fitted } } }) as IncomingMessage;
  }

  /** Ends the transfer by what `call` throws, such as for a head that Node refuses: the file system calls, and nobody else would catch it. */
  #attempt(call: () => void): void {
    if (this.#settled) return;
    try {
      call();
    } catch (error) {
      if (error !== ANSWERED) this.fail(asError(error));
    }
  }

  #hearEnd(): void {
    const res = this.#res;
    // Responses of an application close with their connection already.
    if (res[kOwn] === undefined && res.socket === null) closeWithConnection(this.#order.req, res);
    onFinished()(res, (error) => this.#finish(error));
  }

  /** Checks where links lead: `send` checks names alone, and uploads or mistakes leave links in a tree. */
  #confine(file: SendStream, path: string, known: KnownFile, proceed: () => void): void {
    const { within } = this.#order;
    if (within === undefined || known.root === within) return proceed();
    findBeneath(within, path, (error, inside) => {
      if (error !== null) return file.onStatError(error);
      if (!inside) return file.error(403);
      known.root = within;
      proceed();
    });
  }

  #open(proceed: SendStream['send'], path: string, stats: Stats | undefined): void {
    if (this.#settled) return;
    this.#streaming = false;
    this.#attempt(() => {
      // Writing the head would throw for them later, out of reach.
      checkStatus(asNodeHas(this.#res.statusCode));
      if (this.#res.statusMessage) validateHeaderValue('statusMessage', this.#res.statusMessage);
      this.#before = headOf(this.#res);
      proceed(path, stats);
      if (this.#settled) return;
      this.#behind = headOf(this.#res);
      // Without a body: it may wait behind another, and nobody tells of its end if the client goes then.
      if (this.#streaming === false && this.#res.writableEnded) this.#settle('sent');
    });
  }

  /**
   * True for no bytes, or no more than a stream reads at once: the latter only if nobody has replaced `write`
   * or `end`, or waits for a pipe. For no bytes `send` would read one, which the file may have since.
   */
  #readsAtOnce(): boolean {
    const res = this.#res;
    const own = res[kOwn];
    return this.#promised === 0 || this.#promised <= AT_ONCE && own !== undefined && res.write === own.write && res.end === own.end && res.listeners('pipe').every((listener) => listener === hearPipe);
  }

  #sendAtOnce(file: SendStream, path: string, start: number): void {
    this.#streaming = true;
    const promised = this.#promised;
    this.#order.files.read(path, this.#known as KnownFile, start, promised, (error, bytes) => {
      if (this.#settled) return;
      if (this.#res.destroyed) return this.#loseClient();
      if (error !== null) return file.onStatError(error);
      if (bytes.length < promised) return this.fail(endedEarly(bytes.length, promised));
      this.#end(bytes);
    });
  }

  #end(bytes: Buffer): void {
    const res = this.#res;
    this.#attempt(() => {
      if (bytes.length === 0) {
        res.end();
      } else {
        // As a pipe has it. Made by `end`, the head would have a Content-Disposition in another encoding.
        if (!res.headersSent) res.writeHead(res.statusCode);
        res.end(bytes);
      }
      this.#settle('sent');
    });
  }

  /** Fails for a file cut short meanwhile: the client would take the missing bytes from the next response. */
  #watch(stream: ReadStream): void {
    this.#streaming = true;
    this.#stream = stream;
    const res = this.#res;
    guardPipe(stream, res, (error) => {
      // Without a head sent, something else may still be answered.
      if (res.headersSent) res.destroy();
      this.fail(error);
    });
    const promised = this.#promised;
    stream.on('end', () => {
      if (stream.bytesRead >= promised) return;
      res.destroy();
      this.fail(endedEarly(stream.bytesRead, promised));
    });
  }

  #finish(error: Error | null): void {
    // Usually settled already, which saves every file a turn and an error.
    if (this.#settled) return;
    if (error === null) {
      // The end of the stream may be told after the end of the response.
      setImmediate(() => (this.#streaming === false ? this.#settle('sent') : this.#loseClient()));
      return;
    }
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code === 'ECONNRESET') this.#loseClient();
    else this.#stop(syscall === 'write' ? 'gone' : 'failed', error);
  }

  /** Ends a running transfer by an error that is none of `send`'s. */
  fail(error: Error): void {
    this.#stop('failed', error);
  }

  /** Ends a running transfer because there is no such file to be had. */
  refuse(error: Error): void {
    this.#stop('refused', error);
  }

  #loseClient(): void {
    this.#stop('gone', Object.assign(new Error('The client went away before the file was sent'), { code: 'ECONNABORTED' }));
  }

  #stop(end: TransferEnd, error: Error): void {
    if (this.#settled) return;
    this.#stream?.unpipe(this.#res).destroy();
    this.#restore();
    this.#settle(end, error);
  }

  /** Takes back the file's head from the response, except what the program has set since. */
  #restore(): void {
    const res = this.#res;
    if (res.headersSent) return;
    if (this.#before !== undefined) takeBack(res, this.#before, this.#behind ?? headOf(res));
    if (this.#known !== undefined) forgetLength(res);
  }

  #settle(end: TransferEnd, error?: Error): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#done(end, error);
  }
}

function endedEarly(sent: number, promised: number): Error {
  return new Error(`The file ended after ${sent} of ${promised} bytes`);
}

/** Makes an integer of text or a fraction, as Node does in the head. */
function asNodeHas(status: number): number {
  return status | 0;
}
