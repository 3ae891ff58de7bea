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
import { encodeUrl } from '../packages';
import type { NextFunction } from '../routing/handler';
import { isDisputed, pathEnd, pathOf, pathStart } from '../target/target';

import type { StaticOptions } from './static-files';

/** A request, of whatever framework. */
type FileRequest = IncomingMessage & { readonly originalUrl?: unknown };
/** A response, of whatever framework. */
type StaticResponse = FileResponse & { readonly [kSettings]?: ResponseSettings };

/** A directory whose files are served. */
export class ServedDirectory {
  readonly #options: SendOptions;
  readonly #fallsThrough: boolean;
  readonly #redirects: boolean;
  readonly #setHeaders: StaticOptions['setHeaders'];
  /** For responses of another framework. */
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
    // Under another framework nobody has asked: a guard there may have read another path.
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
        // Not waited for, as in Express.
        if (typeof result === 'object' && result !== null) Promise.resolve(result).catch((error: unknown) => {
          transfer.fail(asError(error));
          leave(asError(error));
        });
      },
      takeDirectory: (file) => {
        // Behind a sent head nothing can be redirected.
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

/** True for an error that says that there is no such file. */
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

/** As Express answers, word for word. */
function redirectToDirectory(req: FileRequest, res: ServerResponse): void {
  const target = originalTarget(req);
  const start = pathStart(target);
  const end = pathEnd(target, start);
  // A client takes what follows several slashes, either way round, for another host.
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

