import { constants, isAscii } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';
import { TextDecoder } from 'node:util';
import { brotliDecompress, gunzip, inflate } from 'node:zlib';
import { parse as parseContentType } from 'content-type';
import { HttpError } from '../errors';
import { parseJson } from './json';
import { parseQuery } from './query';

export { type CaptureListener, type CaptureOutcome, hasBody, isBeingRead, kCaptured, kIntake, kRawBody, startCapture } from './capture';

/** The kinds of body that are parsed. */
export type BodyKind = 'json' | 'form' | 'text';

/** How a captured body is parsed. */
export interface ParseOptions {
  /** Longest body after inflating, in bytes. */
  readonly limit: number;
  /** Whether integers beyond 2^53 in JSON become BigInt. */
  readonly bigint: boolean;
}

/** Hears what a body was parsed to, or why it was not. `value` is undefined where the type is none that is parsed. */
export type ParseListener = (error: HttpError | null, value: unknown) => void;

/** Bytes from which it pays to ask whether all are ASCII: those become text in half the time, of a megabyte in a tenth. */
const LONG = 4096;
const PLAIN_JSON = 'application/json';
const TEXT_TYPE = /^text\/[!#$%&'*+.^_`|~0-9a-z-]+$/;
const JSON_SUFFIX = /^[!#$%&'*+.^_`|~0-9a-z-]+\/[!#$%&'*+.^_`|~0-9a-z-]+\+json$/;

/**
 * The kind that a Content-Type field names, undefined for one that is not
 * parsed and for one that is malformed. It must match as a whole: a parser
 * that looked for `json` anywhere in it could be chosen, or dodged, by a
 * client (RFC 9110 section 8.3).
 */
export function bodyKind(contentType: string | undefined): BodyKind | undefined {
  if (contentType === undefined) return undefined;
  // What nearly every client sends has nothing in it to parse.
  if (contentType === PLAIN_JSON) return 'json';
  return kindOf(parseContentType(contentType, { parameters: false }).type);
}

function kindOf(type: string): BodyKind | undefined {
  if (type === 'application/json') return 'json';
  if (type === 'application/x-www-form-urlencoded') return 'form';
  if (TEXT_TYPE.test(type)) return 'text';
  return JSON_SUFFIX.test(type) ? 'json' : undefined;
}

/**
 * Parses the captured bytes of a body by its headers. JSON may hold any value
 * and must not be empty; a form is flat; text is a string. `done` is called
 * exactly once, before this returns where nothing is to be inflated.
 *
 * The error is an HttpError: 400 `MALFORMED_BODY` or `FORBIDDEN_KEY`, 413
 * `BODY_TOO_LARGE`, 415 `UNSUPPORTED_ENCODING` or `UNSUPPORTED_CHARSET`.
 */
export function parseBody(raw: Buffer, headers: IncomingHttpHeaders, options: ParseOptions, done: ParseListener): void {
  const parse = BodyParse.of(headers, options, done);
  if (parse !== undefined) parse.start(raw, headers['content-encoding']);
}

class BodyParse {
  readonly #kind: BodyKind;
  readonly #decoder: TextDecoder | undefined;
  readonly #options: ParseOptions;
  readonly #done: ParseListener;

  private constructor(kind: BodyKind, decoder: TextDecoder | undefined, options: ParseOptions, done: ParseListener) {
    this.#kind = kind;
    this.#decoder = decoder;
    this.#options = options;
    this.#done = done;
  }

  /** Undefined where the headers alone decide; `done` has been called then. */
  static of(headers: IncomingHttpHeaders, options: ParseOptions, done: ParseListener): BodyParse | undefined {
    if (headers['content-type'] === PLAIN_JSON) return new BodyParse('json', undefined, options, done);
    const { type, parameters } = parseContentType(headers['content-type'] ?? '');
    const kind = kindOf(type);
    if (kind === undefined) {
      done(null, undefined);
      return undefined;
    }
    const decoder = decoderOf(parameters['charset'], kind);
    if (decoder === null) {
      done(HttpError.of('UNSUPPORTED_CHARSET'), undefined);
      return undefined;
    }
    return new BodyParse(kind, decoder, options, done);
  }

  start(raw: Buffer, contentEncoding: string | undefined): void {
    const limit = this.#options.limit;
    if (raw.length > limit) {
      this.#done(HttpError.of('BODY_TOO_LARGE'), undefined);
      return;
    }
    // Bounded while it inflates: a few kilobytes may stand for gigabytes.
    const bounds = { maxOutputLength: Math.min(Math.max(limit, 1), constants.MAX_LENGTH) };
    switch (contentEncoding?.trim().toLowerCase()) {
      case undefined:
      case '':
      case 'identity':
        this.#finish(raw);
        break;
      case 'gzip':
      case 'x-gzip':
        gunzip(raw, bounds, (error, bytes) => this.#inflated(error, bytes));
        break;
      case 'deflate':
        inflate(raw, bounds, (error, bytes) => this.#inflated(error, bytes));
        break;
      case 'br':
        brotliDecompress(raw, bounds, (error, bytes) => this.#inflated(error, bytes));
        break;
      default:
        this.#done(HttpError.of('UNSUPPORTED_ENCODING'), undefined);
    }
  }

  #inflated(error: Error | null, bytes: Buffer): void {
    if (error === null) this.#finish(bytes);
    else this.#done(inflateError(error), undefined);
  }

  #finish(bytes: Buffer): void {
    let value: unknown;
    try {
      value = this.#parse(this.#text(bytes));
    } catch (error) {
      this.#done(error instanceof HttpError ? error : HttpError.of('MALFORMED_BODY', undefined, { cause: error }), undefined);
      return;
    }
    this.#done(null, value);
  }

  #text(bytes: Buffer): string {
    const decoder = this.#decoder;
    if (decoder !== undefined) {
      // In two steps: in one, Node 20 reads windows-1252 as Latin-1 and loses the euro sign.
      return decoder.decode(bytes, { stream: true }) + decoder.decode();
    }
    const text = bytes.toString(bytes.length >= LONG && isAscii(bytes) ? 'latin1' : 'utf8');
    return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
  }

  #parse(text: string): unknown {
    if (this.#kind === 'json') return parseJson(text, this.#options.bigint);
    return this.#kind === 'form' ? parseQuery(text, refuseKey) : text;
  }
}

/** Undefined for UTF-8, which Buffer decodes faster; null for a charset that is not supported. */
function decoderOf(charset: string | undefined, kind: BodyKind): TextDecoder | undefined | null {
  if (charset === undefined || charset === '' || charset.toLowerCase() === 'utf-8') return undefined;
  let decoder: TextDecoder;
  try {
    decoder = new TextDecoder(charset);
  } catch {
    return null;
  }
  // JSON is Unicode in every edition of its grammar (RFC 8259 section 8.1).
  return kind === 'json' && !decoder.encoding.startsWith('utf-') ? null : decoder;
}

function inflateError(error: Error): HttpError {
  if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE') return HttpError.of('BODY_TOO_LARGE');
  return HttpError.of('MALFORMED_BODY', 'The request body could not be inflated by its content encoding', { cause: error });
}

function refuseKey(): never {
  throw HttpError.of('FORBIDDEN_KEY');
}
