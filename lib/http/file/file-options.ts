import type { OutgoingHttpHeaders } from 'node:http';
import { isAbsolute } from 'node:path';
import { inspect } from 'node:util';

/** Options of `res.sendFile` and `res.download`. */
export interface SendFileOptions {
  /** Directory that a relative path starts from and that nothing is sent from outside of. @default none: the path must be absolute */
  root?: string | undefined;
  /** Header fields to set once the file is found, over those set before. @default none */
  headers?: OutgoingHttpHeaders | undefined;
  /** Answer for a path with a name beginning in a dot: the file, 403 or 404. Without `root` every directory of the path counts. @default 'ignore' (404) */
  dotfiles?: 'allow' | 'deny' | 'ignore' | undefined;
  /** Lets a symbolic link beneath `root` lead out of it; otherwise 403. @default false */
  followSymlinks?: boolean | undefined;
  /** max-age of Cache-Control, in milliseconds or as text (`'1d'`), one year at most. @default 0 */
  maxAge?: number | string | undefined;
  /** Adds `immutable` to Cache-Control. @default false */
  immutable?: boolean | undefined;
  /** Sets Cache-Control. @default true */
  cacheControl?: boolean | undefined;
  /** Sets Last-Modified. @default true */
  lastModified?: boolean | undefined;
  /** Sets ETag. @default true */
  etag?: boolean | undefined;
  /** Answers Range requests (RFC 9110 section 14). @default true */
  acceptRanges?: boolean | undefined;
  /** Extensions to try, without a dot, when there is no file of that name. @default none */
  extensions?: string | string[] | false | undefined;
  /** File sent for a path that ends in a slash. @default 'index.html' */
  index?: string | string[] | false | undefined;
  /** First byte to send, counted from 0. @default 0 */
  start?: number | undefined;
  /** Last byte to send, inclusive. @default the file's last */
  end?: number | undefined;
}

/** Called once: when a file is sent, when an answer without a body is made, or with the error. `code` is `ECONNABORTED` when the client went away. */
export type SendFileCallback = (error?: Error) => unknown;

/**
 * The options that there are, each read once and by its name: as Express has them they may be inherited, or getters of a class, which a copy
 * would leave out, `root` too. What else is given goes no further: `send` hands all it gets to fs.createReadStream.
 */
export function readFileOptions(given: SendFileOptions & { readonly maxage?: SendFileOptions['maxAge'] }): SendFileOptions {
  const { root, headers, dotfiles, followSymlinks, maxAge, maxage, immutable, cacheControl, lastModified, etag, acceptRanges, extensions, index, start, end } = given;
  return { root, headers, dotfiles, followSymlinks, maxAge: maxAge || maxage, immutable, cacheControl, lastModified, etag, acceptRanges, extensions, index, start, end };
}

/** Arguments of `res.download` behind the path. */
interface Download {
  /** Name to save the file as; the file's own if undefined. */
  readonly filename: string | undefined;
  readonly options: SendFileOptions;
  readonly callback: SendFileCallback | undefined;
}

/**
 * Tells them by their places, as Express does: a name may be the client's, and an object that it has sent must not stand for the options that
 * there are.
 * @throws TypeError for a name that is no string, and for options that are no object.
 */
export function readDownload(second: unknown, third: unknown, fourth: unknown): Download {
  if (typeof second === 'function') return { filename: undefined, options: {}, callback: second as SendFileCallback };
  const isNamed = typeof second !== 'object' || second === null || (third !== undefined && typeof third !== 'function');
  if (isNamed && second && typeof second !== 'string') throw new TypeError(`res.download: the name to save under must be a string, got ${inspect(second)}`);
  const options = isNamed ? (typeof third === 'function' ? undefined : third) : second;
  if (options && typeof options !== 'object') throw new TypeError(`res.download takes an object of options, got ${inspect(options)}`);
  return {
    filename: isNamed ? ((second || undefined) as string | undefined) : undefined,
    options: readFileOptions(options || {}),
    callback: (typeof third === 'function' ? third : fourth) as SendFileCallback | undefined,
  };
}

/** @throws TypeError for a path that is no string, or is relative with no `root`; for bytes that are none. */
export function checkFileOptions(path: unknown, { root, start = 0, end = Number.MAX_SAFE_INTEGER }: SendFileOptions): void {
  if (typeof path !== 'string' || path === '') {
    const wrong = path ? 'path must be a string to' : 'path argument is required to';
    throw new TypeError(`${wrong} res.sendFile, got ${inspect(path)}: give it the path of a file`);
  }
  // As `send` asks: of null and false it makes none.
  if (!root && !isAbsolute(path)) {
    throw new TypeError(
      `path must be absolute, or beneath a root, for res.sendFile, got ${inspect(path)}: write path.join(__dirname, ${inspect(path)}) or { root: __dirname }`,
    );
  }
  // `send` makes a negative length of some, which is no HTTP.
  if (!Number.isSafeInteger(start) || start < 0) throw new TypeError(`res.sendFile: start must be a whole number of bytes from 0, got ${inspect(start)}`);
  if (!Number.isSafeInteger(end) || end < start) throw new TypeError(`res.sendFile: end must be a whole number of bytes, not below start (${start}), got ${inspect(end)}`);
}
