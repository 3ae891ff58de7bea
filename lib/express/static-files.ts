import type { Stats } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { FileCoding } from './precompressed';
import { late } from '../packages';
import type { Handler } from '../routing/handler';
import { markFactory } from '../routing/middleware-factory';

const serving = late(() => require('./served-directory') as typeof import('./served-directory'));

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
  /** Sends `app.js.zst`, `app.js.br` or `app.js.gz` for `app.js` to clients that ask for it by Accept-Encoding; of codings that they like alike, the first. @default none */
  precompressed?: FileCoding[] | undefined;
  /** Redirects from a directory without a slash at its end to it with one. @default true */
  redirect?: boolean | undefined;
  /** Called before the head is sent, to set more fields. @default none */
  setHeaders?(res: ServerResponse, path: string, stat: Stats): unknown;
}

/**
 * Middleware that serves the files of a directory, as `express.static` does; exported as `static`. It works in applications of Express and
 * under `node:http` as well.
 * @param root The directory.
 * @throws TypeError for a root, a `setHeaders` or a `precompressed` that is none.
 */
export function staticFiles(root: string, options?: StaticOptions): Handler {
  const directory = new (serving().ServedDirectory)(root, options ?? {});
  return function serveStatic(req, res, next) {
    directory.serve(req, res, next);
  };
}

markFactory(staticFiles, 'static(root)');
