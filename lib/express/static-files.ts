import type { Stats } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { resolve } from 'node:path';
import { inspect } from 'node:util';
import type { SendOptions } from 'send';
import { HttpError } from '../errors';
import { forgetFraming, forgetLength } from '../http/answer';
import { type FileResponse, FileTransfer } from '../http/file/file-transfer';
import { asError } from '../http/file/file-pipe';
import { KnownFiles } from '../http/file/known-files';
import { escapeHtml } from '../http/redirect';
import { kSettings, type ResponseSettings } from '../http/response-state';
import { markFactory } from '../routing/middleware-factory';
import { encodeUrl } from '../packages';
import type { Handler, NextFunction } from '../routing/handler';
import { isDisputed, pathEnd, pathOf, pathStart } from '../target/target';

/** Options of {@link staticFiles}. */
export interface StaticOptions {
  /** Answers Range requests (RFC 9110 section 14). @default true */
  acceptRanges?: boolean | undefined;
  /** Sets Cache-Control. @default true */
  cacheControl?: boolean | undefined;
  /** Response to a path with a name beginning in a dot: the file, 403 or 404. @default 'ignore' (404) */
  dotfiles?: 'allow' | 'deny' | 'ignore' | undefined;
  /** Sets ETag. @default true */
  etag?: boolean | undefined;
  /** Extensions to try, without a dot, when there is no file of that name. @default false: none */
  extensions?: string[] | false | undefined;
  /** Passes what is no file on to the next handler; if not, it is an error. @default true */
  fallthrough?: boolean | undefined;
  /** Adds `immutable` to Cache-Control. @default false */
  immutable?: boolean | undefined;
  /** File sent for a directory. @default 'index.html' */
  index?: string | string[] | false | undefined;
  /** Sets Last-Modified. @default true */
  lastModified?: boolean | undefined;
  /** max-age of Cache-Control, in milliseconds or as text (`'1d'`). @default 0 */
  maxAge?: number | string | undefined;
  /** Redirects from a directory without a slash at its end to it with one. @default true */
  redirect?: boolean | undefined;
  /** Called before the head is sent, to set more fields. @default none */
  setHeaders?(res: ServerResponse, path: string, stat: Stats): unknown;
}

/**
 * Middleware that serves the files of a directory, as `express.static` does; exported as `static`. It works in applications of Express and
 * under `node:http` as well.
 * @param root The directory.
 * @throws TypeError for a root or a `setHeaders` that is none.
 */
export function staticFiles(root: string, options?: StaticOptions): Handler {
  const directory = new ServedDirectory(root, options ?? {});
  return function serveStatic(req, res, next) {
    directory.serve(req, res, next);
  };
}

/** A request, of whatever framework. */
type FileRequest = IncomingMessage & { readonly originalUrl?: unknown };
/** A response, of whatever framework. */
type StaticResponse = FileResponse & { readonly [kSettings]?: ResponseSettings };

/** A directory whose files are served. */
class ServedDirectory {
  readonly #options: SendOptions;
  readonly #fallsThrough: boolean;
  readonly #redirects: boolean;
  readonly #setHeaders: StaticOptions['setHeaders'];
  /** Files of responses of another framework. */
  readonly #files = new KnownFiles();

  constructor(root: unknown, given: StaticOptions & { readonly maxage?: StaticOptions['maxAge'] } & Pick<SendOptions, 'end' | 'start'>) {
    if (!root) throw new TypeError(`static: root path required, got ${inspect(root)}: write static('public')`);
    if (typeof root !== 'string') throw new TypeError(`static: root path must be a string, got ${inspect(root)}: write static('public')`);
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called by Reflect.apply
    const { acceptRanges, cacheControl, dotfiles, etag, extensions, immutable, index, lastModified, maxAge, maxage, start, end, fallthrough, redirect, setHeaders } = given;
    if (Boolean(setHeaders) && typeof setHeaders !== 'function') throw new TypeError(`static: setHeaders must be a function, got ${inspect(setHeaders)}`);
    this.#options = { acceptRanges, cacheControl, dotfiles, etag, extensions, immutable, index, lastModified, maxAge: maxAge || maxage, start, end, root: resolve(root) };
    this.#fallsThrough = fallthrough !== false;
    this.#redirects = redirect !== false;
    this.#setHeaders = setHeaders || undefined;
  }

  serve(req: FileRequest, res: StaticResponse, next: NextFunction): void {
    if (req.method !== 'GET' && req.method !== 'HEAD') return this.#fallsThrough ? next() : refuseMethod(res);
    // A guard of another framework may have read another path.
    if (isDisputed(req.url ?? '')) return next(this.#fallsThrough ? undefined : HttpError.of('DISPUTED_PATH'));
    let isStarting = true;
    let isLeft = false;
    const leave = (error?: Error): void => {
      if (isLeft) return;
      isLeft = true;
      if (error !== undefined) forgetLength(res);
      if (isStarting) return next(error);
      try {
        next(error);
      } catch (thrown) {
        // The next handler's, where no framework has caught it. What has called back here would take it for the file's.
        process.nextTick(() => {
          throw thrown;
        });
      }
    };
    try {
      const transfer = this.#transfer(req, res, leave);
      transfer.start();
    } catch (error) {
      if (isLeft) throw error;
      leave(asError(error));
    }
    isStarting = false;
  }

  #transfer(req: FileRequest, res: StaticResponse, leave: (error?: Error) => void): FileTransfer {
    const transfer: FileTransfer = new FileTransfer(res, {
      req,
      path: pathBelow(req),
      options: this.#options,
      within: undefined,
      files: res[kSettings]?.files ?? this.#files,
      addHead: (path, stats, file) => {
        const result: unknown = this.#setHeaders === undefined ? undefined : Reflect.apply(this.#setHeaders, file, [res, path, stats]);
        // Express does not wait for it either.
        if (typeof result === 'object' && result !== null) Promise.resolve(result).catch((error: unknown) => {
          transfer.fail(asError(error));
          leave(asError(error));
        });
      },
      takeDirectory: (file) => {
        // A sent head rules out a redirect.
        if (this.#redirects && !file.hasTrailingSlash() && !res.headersSent) redirectToDirectory(req, res);
        else file.error(404);
      },
    }, (end, error) => {
      if (end === 'sent' || end === 'gone') return;
      leave(end === 'refused' && this.#fallsThrough && !transfer.isFound && hasRefusalStatus(error as Error) ? undefined : error);
    });
    return transfer;
  }
}

/** True for an error that says that there is no such file, and no more. */
function hasRefusalStatus({ statusCode }: Error & { readonly statusCode?: unknown }): boolean {
  return typeof statusCode === 'number' && statusCode < 500;
}

function originalTarget({ originalUrl, url = '' }: FileRequest): string {
  return typeof originalUrl === 'string' ? originalUrl : url;
}

/** The path beneath the root. At the mount path itself it is none without a slash, so that a redirect adds one. */
function pathBelow(req: FileRequest): string {
  const path = pathOf(req.url ?? '');
  return path === '/' && !pathOf(originalTarget(req)).endsWith('/') ? '' : path;
}

/** Redirects as Express does, word for word. */
function redirectToDirectory(req: FileRequest, res: ServerResponse): void {
  const target = originalTarget(req);
  const start = pathStart(target);
  const end = pathEnd(target, start);
  // A client would take what follows several slashes, either way round, for another host.
  const path = `${target.slice(start, end)}/`.replace(/^[/\\]+/, '/');
  const location = encodeUrl()(target.slice(0, start) + path + target.slice(end));
  const page = [
    '<!DOCTYPE html>', '<html lang="en">', '<head>', '<meta charset="utf-8">', '<title>Redirecting</title>', '</head>', '<body>', `<pre>Redirecting to ${escapeHtml(location)}</pre>`, '</body>', '</html>', '',
  ].join('\n');
  forgetFraming(res);
  res.statusCode = 301;
  res.setHeader('Content-Type', 'text/html; charset=UTF-8');
  res.setHeader('Content-Length', Buffer.byteLength(page));
  res.setHeader('Content-Security-Policy', "default-src 'none'");
  res.setHeader('X-Content-Type-Options', 'nosniff');
  res.setHeader('Location', location);
  res.end(page);
}

function refuseMethod(res: ServerResponse): void {
  forgetFraming(res);
  res.statusCode = 405;
  res.setHeader('Allow', 'GET, HEAD');
  res.setHeader('Content-Length', '0');
  res.end();
}

markFactory(staticFiles, 'static(root)');
