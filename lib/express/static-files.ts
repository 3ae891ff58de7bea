import type { Stats } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { markFactory } from '../middleware-factory';
import { serveStatic } from '../packages';
import type { Handler } from '../routing/handler';

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
  const serve = serveStatic();
  return serve(root, options as Parameters<typeof serve>[1]);
}

markFactory(staticFiles, 'static(root)');
