import type { Stats } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { forgetFraming } from '../http/answer';
import { asError, guardStream } from '../http/file/guarded-stream';
import type { Response } from '../http/response';
import { markFactory } from '../middleware-factory';
import { serveStatic } from '../packages';
import type { Handler, NextFunction } from '../routing/handler';

/** Options of {@link staticFiles}. */
export interface StaticOptions {
  /** Answers Range requests (RFC 9110 section 14). @default true */
  acceptRanges?: boolean | undefined;
  /** Sets Cache-Control. @default true */
  cacheControl?: boolean | undefined;
  /** What a path with a name beginning in a dot gets: the file, 403 or 404. @default 'ignore' (404) */
  dotfiles?: 'allow' | 'deny' | 'ignore' | undefined;
  /** Sets ETag. @default true */
  etag?: boolean | undefined;
  /** Extensions to try, without a dot, when there is no file of that name. @default false: none */
  extensions?: string[] | false | undefined;
  /** Whether what is no file goes on to the next handler; if not, it is an error. @default true */
  fallthrough?: boolean | undefined;
  /** Adds `immutable` to Cache-Control. @default false */
  immutable?: boolean | undefined;
  /** File sent for a directory. @default 'index.html' */
  index?: string | string[] | false | undefined;
  /** Sets Last-Modified. @default true */
  lastModified?: boolean | undefined;
  /** max-age of Cache-Control, in milliseconds or as text (`'1d'`). @default 0 */
  maxAge?: number | string | undefined;
  /** Whether a directory without a slash at its end redirects to it with one. @default true */
  redirect?: boolean | undefined;
  /** Called before the head is sent, to set more fields. @default none */
  setHeaders?(res: ServerResponse, path: string, stat: Stats): unknown;
}

/**
 * Middleware that serves the files of a directory with serve-static, as
 * `express.static` does; exported as `static`.
 * @param root The directory.
 */
export function staticFiles(root: string, options?: StaticOptions): Handler {
  const make = serveStatic();
  const serve = make(root, options as Parameters<typeof make>[1]);
  return function serveStatic(req, res, next) {
    const ending = new StaticEnd(res, next);
    serve(req, res, (error?: unknown) => ending.leave(error));
  };
}

/**
 * Puts itself before `end` while the library has a response: the file system calls it then, and what `end` throws for, such as a head that
 * Node refuses, would end the process.
 */
class StaticEnd {
  readonly #res: Response;
  readonly #next: NextFunction;
  readonly #end: Response['end'];
  readonly #guardedEnd: Response['end'];
  readonly #guard = (file: Readable): void => {
    forgetFraming(this.#res);
    guardStream(file, (error) => this.leave(error));
    // Where a response has been closed before it had a socket, nothing tells the library to close the file that it opens then.
    if (this.#res.destroyed) file.destroy();
  };
  #isLeft = false;

  constructor(res: Response, next: NextFunction) {
    this.#res = res;
    this.#next = next;
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called by Reflect.apply
    this.#end = res.end;
    this.#guardedEnd = (...given: readonly unknown[]) => this.#attempt(given);
    res.end = this.#guardedEnd;
    res.on('pipe', this.#guard);
  }

  /** Gives the request to what stands behind, or its error to error middleware. */
  leave(error?: unknown): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    if (this.#res.end === this.#guardedEnd) this.#res.end = this.#end;
    this.#res.off('pipe', this.#guard);
    this.#next(error);
  }

  #attempt(given: readonly unknown[]): Response {
    if (this.#isLeft) return Reflect.apply(this.#end, this.#res, given) as Response;
    try {
      if (!this.#res.headersSent) forgetFraming(this.#res);
      return Reflect.apply(this.#end, this.#res, given) as Response;
    } catch (error) {
      this.leave(asError(error));
      return this.#res;
    }
  }
}

markFactory(staticFiles, 'static(root)');
