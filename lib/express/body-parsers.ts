import type { IncomingMessage, ServerResponse } from 'node:http';
import { hide, noteParserCallback } from '../exposure';
import { markFactory } from '../routing/middleware-factory';
import { bodyParser, late } from '../packages';
import type { Handler } from '../routing/handler';

const capturedParser = late(() => require('./captured-parser') as typeof import('./captured-parser'));

/** Options that all body parsers share. */
export interface BodyParserOptions {
  /** Inflates gzip, deflate, br, and zstd where Node has it; if not, such a body is answered by 415. @default true */
  inflate?: boolean | undefined;
  /** Longest body, in bytes, or text such as `'5mb'`; beyond it 413. @default '100kb' */
  limit?: number | string | undefined;
  /** Content types that are parsed, by name, extension or test. @default the parser's own */
  type?: string | string[] | ((req: IncomingMessage) => unknown) | undefined;
  /** Called with the bytes before they are parsed; what it throws is answered by 403. @default none */
  verify?(req: IncomingMessage, res: ServerResponse, body: Buffer, encoding: string): void;
}

/** Options of {@link json}. */
export interface JsonParserOptions extends BodyParserOptions {
  /** Second argument of `JSON.parse`. @default none */
  reviver?(this: unknown, key: string, value: unknown): unknown;
  /** Accepts only objects and arrays. @default true */
  strict?: boolean | undefined;
}

/** Options of {@link text}. */
export interface TextParserOptions extends BodyParserOptions {
  /** Charset where the Content-Type names none. @default 'utf-8' */
  defaultCharset?: string | undefined;
}

/** Options of {@link urlencoded}. */
export interface UrlencodedParserOptions extends BodyParserOptions {
  /** Parses names with brackets as objects and arrays. @default false */
  extended?: boolean | undefined;
  /** Most parameters; beyond it 413. @default 1000 */
  parameterLimit?: number | undefined;
  /** Most levels of brackets with `extended`; beyond it 400. @default 32 */
  depth?: number | undefined;
  /** Charset where the Content-Type names none. @default 'utf-8' */
  defaultCharset?: 'utf-8' | 'iso-8859-1' | undefined;
  /** Lets a `utf8` parameter name the charset. @default false */
  charsetSentinel?: boolean | undefined;
  /** Decodes numeric character references in iso-8859-1. @default false */
  interpretNumericEntities?: boolean | undefined;
}

/**
 * Middleware that reads JSON bodies with body-parser, as `express.json` does.
 * An application parses JSON by itself; this is for other limits and rules,
 * which then count for later handlers.
 */
export function json(options?: JsonParserOptions): Handler {
  return capturing('json', (given) => bodyParser().json(given), options, 'application/json');
}

/** Middleware that reads forms with body-parser, as `express.urlencoded` does; see {@link json}. */
export function urlencoded(options?: UrlencodedParserOptions): Handler {
  return capturing('urlencoded', (given) => bodyParser().urlencoded(given), options, 'application/x-www-form-urlencoded');
}

/** Middleware that reads text bodies with body-parser, as `express.text` does; see {@link json}. */
export function text(options?: TextParserOptions): Handler {
  return capturing('text', (given) => bodyParser().text(given), options, 'text/plain');
}

/** Middleware that reads bodies as bytes with body-parser, as `express.raw` does. */
export function raw(options?: BodyParserOptions): Handler {
  return capturing('raw', (given) => bodyParser().raw(given), options, 'application/octet-stream');
}

/**
 * A parser that leaves the body on the stream. It marks errors as it hands them on: its caller may change what tells an error of `verify` or `reviver`, and nothing
 * tells one that was raised on the request while it was read. Its name stays, by which an application knows a parser.
 */
function capturing(kind: string, make: (options: BodyParserOptions) => Handler, options: BodyParserOptions | undefined, defaultType: string): Handler {
  const parser = new (capturedParser().CapturedParser)(kind, make, options, defaultType);
  const marked: Handler = (req, res, next) => {
    let isRaised = false;
    const onError = (): void => {
      isRaised = true;
    };
    // A test may call it with an object of its own.
    const request = req as Partial<typeof req>;
    request.on?.('error', onError);
    const done = (error?: unknown): void => {
      request.removeListener?.('error', onError);
      if (error === undefined) return next();
      if (isRaised) hide(error as object);
      else noteParserCallback(error);
      next(error);
    };
    try {
      parser.handle(req, res, done);
    } catch (error) {
      request.removeListener?.('error', onError);
      throw error;
    }
  };
  return Object.defineProperty(marked, 'name', { value: parser.name, configurable: true });
}

for (const make of [json, urlencoded, text, raw]) markFactory(make, `${make.name}()`);
