import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, resolve } from 'node:path';
import { inspect } from 'node:util';
import type { SendOptions } from 'send';
import { HttpError } from '../errors';
import { forgetFraming, forgetLength } from '../http/answer';
import { type FileResponse, FileTransfer } from '../http/file/file-transfer';
import { asError } from '../http/file/file-pipe';
import { KnownFiles } from '../http/file/known-files';
import { escapeHtml } from '../http/redirect';
import { kSettings, type ResponseSettings } from '../http/response-state';
import { completeType, typeOf } from '../http/media-type';
import { encodeUrl, late, vary } from '../packages';
import type { NextFunction } from '../routing/handler';
import { isDisputed, pathEnd, pathOf, pathStart } from '../target/target';

import type { FileCoding, Variant } from './precompressed';
import type { StaticOptions } from './static-files';

const precompression = late(() => require('./precompressed') as typeof import('./precompressed'));

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
  readonly #codings: readonly FileCoding[];
  /** For responses of another framework. */
  readonly #files = new KnownFiles();

  constructor(root: unknown, given: StaticOptions & { readonly maxage?: StaticOptions['maxAge'] } & Pick<SendOptions, 'end' | 'start'>) {
    if (!root) throw new TypeError(`static: root path required, got ${inspect(root)}: write static('public')`);
    if (typeof root !== 'string') throw new TypeError(`static: root path must be a string, got ${inspect(root)}: write static('public')`);
    // eslint-disable-next-line @typescript-eslint/unbound-method -- called by Reflect.apply
    const { acceptRanges, cacheControl, dotfiles, etag, extensions, immutable, index, lastModified, maxAge, maxage, start, end, fallthrough, precompressed, redirect, setHeaders } = given;
    if (Boolean(setHeaders) && typeof setHeaders !== 'function') throw new TypeError(`static: setHeaders must be a function, got ${inspect(setHeaders)}`);
    this.#options = { acceptRanges, cacheControl, dotfiles, etag, extensions, immutable, index, lastModified, maxAge: maxAge || maxage, start, end, root: resolve(root) };
    this.#fallsThrough = fallthrough !== false;
    this.#redirects = redirect !== false;
    this.#setHeaders = setHeaders || undefined;
    this.#codings = precompressed === undefined ? [] : precompression().checkPrecompressed(precompressed);
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
      this.#start(req, res, this.#codings.length === 0 ? [] : precompression().variantsFor(req, this.#codings), leave);
    } catch (error) {
      if (isLeft) throw error;
      leave(asError(error));
    }
    isStarting = false;
  }

  /** Sends the first of the variants that is there, else the file itself. */
  #start(req: FileRequest, res: StaticResponse, variants: readonly Variant[], leave: (error?: Error) => void): void {
    const [variant, ...others] = variants;
    this.#transfer(req, res, variant, variant === undefined ? leave : (error) => (error === undefined ? this.#start(req, res, others, leave) : leave(error))).start();
  }

  #transfer(req: FileRequest, res: StaticResponse, variant: Variant | undefined, leave: (error?: Error) => void): FileTransfer {
    const path = pathBelow(req);
    const { index = 'index.html' } = this.#options;
    const name = path.endsWith('/') && index ? path + String([index].flat()[0]) : path;
    const transfer: FileTransfer = new FileTransfer(res, {
      req,
      path: variant === undefined ? path : name + variant.extension,
      options: variant === undefined ? this.#options : { ...this.#options, extensions: false, index: false },
      within: undefined,
      files: res[kSettings]?.files ?? this.#files,
      addHead: (found, stats, file) => {
        const shown = variant === undefined ? found : found.slice(0, -variant.extension.length);
        if (this.#codings.length > 0) vary()(res, 'Accept-Encoding');
        if (variant !== undefined) {
          res.setHeader('Content-Encoding', variant.coding);
          if (!res.hasHeader('Content-Type')) res.setHeader('Content-Type', completeType(typeOf(extname(shown))));
        }
        const result: unknown = this.#setHeaders === undefined ? undefined : Reflect.apply(this.#setHeaders, file, [res, shown, stats]);
        // Not waited for, as in Express.
        if (typeof result === 'object' && result !== null) Promise.resolve(result).catch((error: unknown) => {
          transfer.fail(asError(error));
          leave(asError(error));
        });
      },
      takeDirectory: (file) => {
        if (variant !== undefined) return leave();
        // Behind a sent head nothing can be redirected.
        if (this.#redirects && !file.hasTrailingSlash() && !res.headersSent) redirectToDirectory(req, res);
        else file.error(404);
      },
    }, (end, error) => {
      if (end === 'sent' || end === 'gone') return;
      const isNone = end === 'refused' && !transfer.isFound && hasRefusalStatus(error as Error);
      leave(isNone && (variant !== undefined || this.#fallsThrough) ? undefined : error);
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

