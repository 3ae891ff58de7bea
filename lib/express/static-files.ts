import type { Stats } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import type { ServeStaticOptions } from 'serve-static';
import { forgetFraming } from '../http/answer';
import { asError, guardStream } from '../http/file/guarded-stream';
import type { Response } from '../http/response';
import { markFactory } from '../middleware-factory';
import { serveStatic } from '../packages';
import { isError } from '../routing/failure';
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
  const servings = new WeakMap<ServerResponse, Serving>();
  const make = serveStatic();
  const serve = make(root, guarded(options, servings));
  // A redirect would throw in a callback of the file system.
  const serveBehindHead = make(root, Object.create(guarded(options, servings) ?? null, { redirect: { value: false } }) as ServeStaticOptions);
  return function serveStatic(req, res, next) {
    const serving = new Serving(res, next);
    servings.set(res, serving);
    (res.headersSent ? serveBehindHead : serve)(req, res, (error?: unknown) => serving.leave(error));
  };
}

/** The options, with a `setHeaders` that has the response guarded, and what it throws made an error of the request: the file system calls it. */
function guarded(options: StaticOptions | undefined, servings: WeakMap<ServerResponse, Serving>): ServeStaticOptions | undefined {
  const { setHeaders } = (options ?? {}) as { readonly setHeaders?: unknown };
  // What is no function is the library's to refuse.
  if (Boolean(setHeaders) && typeof setHeaders !== 'function') return options;
  // By inheritance, as the library has it: options may be of a class.
  return Object.create(options ?? null, {
    setHeaders: {
      enumerable: true,
      value(this: unknown, ...given: [res: ServerResponse, path: string, stat: Stats]): void {
        const serving = servings.get(given[0]);
        serving?.take();
        try {
          if (typeof setHeaders === 'function') setHeaders.apply(this, given);
        } catch (error) {
          serving?.fail(error);
        }
      },
    },
  }) as ServeStaticOptions;
}

/** What the file system calls of a response. */
type Methods = Pick<Response, 'end' | 'write'>;

/**
 * A response while the library has it. The file system calls then, and what is thrown, such as for a head that Node refuses, would end the
 * process, or from Node 24 on cut a file off unheard: it stands before `write` and `end`, and makes an error of the request of it.
 */
class Serving {
  readonly #res: Response;
  readonly #next: NextFunction;
  /** Its methods, from when the library has a file. */
  #own: Methods | undefined;
  #guarded: Methods | undefined;
  readonly #guard = (file: Readable): void => this.#guardPipe(file);
  #file: Readable | undefined;
  #isLeft = false;
  /** What the answer ends by, in the place of a file. */
  #failure: Error | undefined;

  constructor(res: Response, next: NextFunction) {
    this.#res = res;
    this.#next = next;
    // Most requests that come here are for no file: of a response that nobody has touched they keep the shape.
    if (res.statusMessage || Object.hasOwn(res, 'end') || Object.hasOwn(res, 'writeHead') || res.hasHeader('Trailer') || res.hasHeader('Transfer-Encoding')) this.take();
  }

  /** Stands before what ends the response. */
  take(): void {
    if (this.#own !== undefined) return;
    const res = this.#res;
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called by Reflect.apply
    const own = (this.#own = { end: res.end, write: res.write });
    this.#guarded = {
      end: (...given: readonly unknown[]) => this.#attempt(own, 'end', given, res) as Response,
      write: (...given: readonly unknown[]) => this.#attempt(own, 'write', given, false) as boolean,
    };
    Object.assign(res, this.#guarded);
    res.on('pipe', this.#guard);
  }

  /** Has the library's next step end by an error: it can't be stopped before. */
  fail(error: unknown): void {
    this.#failure ??= asError(error);
  }

  /** Gives the request to what stands behind, or its error to error middleware. */
  leave(error?: unknown): void {
    if (this.#isLeft) return;
    this.#isLeft = true;
    const res = this.#res;
    for (const name of ['end', 'write'] as const) if (res[name] === this.#guarded?.[name]) Object.assign(res, { [name]: this.#own?.[name] });
    res.off('pipe', this.#guard);
    // It is the file's, and what is sent in its place would be taken for another length.
    if (isError(error) && !res.headersSent && res.hasHeader('Content-Length')) res.removeHeader('Content-Length');
    this.#next(error);
  }

  #guardPipe(file: Readable): void {
    const res = this.#res;
    this.#file = file;
    forgetFraming(res);
    guardStream(file, (error) => this.#stop(error));
    // Where a response has been closed before it had a socket, nothing tells the library to close the file that it opens then.
    if (res.destroyed) file.destroy();
    if (this.#failure !== undefined) this.#stop(this.#failure);
  }

  /** Ends by an error what has begun. */
  #stop(error: unknown): void {
    this.#file?.unpipe(this.#res);
    this.#file?.destroy();
    this.leave(asError(error));
  }

  #attempt(own: Methods, name: keyof Methods, given: readonly unknown[], none: unknown): unknown {
    const res = this.#res;
    if (this.#isLeft) return Reflect.apply(own[name], res, given) as unknown;
    try {
      if (this.#failure !== undefined) throw this.#failure;
      if (name === 'end' && !res.headersSent) forgetFraming(res);
      return Reflect.apply(own[name], res, given) as unknown;
    } catch (error) {
      this.#stop(error);
      return none;
    }
  }
}

markFactory(staticFiles, 'static(root)');
