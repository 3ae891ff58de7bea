import { type OutgoingHttpHeader, ServerResponse } from 'node:http';
import { basename, extname } from 'node:path';
import { inspect } from 'node:util';
import { contentDisposition, encodeUrl, late, vary } from '../packages';
import type { CookieOptions } from './cookie';
import { isAscii, learnName, setKnown } from './node/header-fields';
import { completeType, typeOf } from './media-type';
import { kLatin1 } from './response-state';
import type { Unchecked } from './unchecked';

const cookies = late(() => require('./cookie') as typeof import('./cookie'));

/** A header field's value as `res.set` takes it. */
export type HeaderValue = string | number | boolean | readonly (string | number)[];

/** The head of a response: its status and its fields (INTERFACE section 2.2). */
export class ResponseHead extends ServerResponse {
  /** @internal */
  declare [kLatin1]: boolean;

  /**
   * Sets the status code (INTERFACE section 2.2).
   * @throws TypeError or RangeError for anything but an integer from 100 to 999.
   */
  status(code: number): this {
    checkStatus(code);
    this.statusCode = code;
    return this;
  }

  /**
   * Sets a header field, or several; a Content-Type gets its usual charset. Of one argument what it holds is set, as in Express:
   * of a text its characters, as the fields 0, 1, 2 …, of a number, null or undefined nothing.
   * @throws TypeError when Node refuses a name or value.
   */
  set(name: string, value: HeaderValue): this;
  set(fields: Readonly<Record<string, HeaderValue>>): this;
  set(name: string | Readonly<Record<string, HeaderValue>>, value?: HeaderValue): this {
    // As in Express, what counts is how many were given.
    if (arguments.length < 2) {
      for (const key in name as Record<string, HeaderValue> | undefined) this.set(key, (name as Record<string, HeaderValue>)[key] as HeaderValue);
      return this;
    }
    setField(this, name as string, value);
    return this;
  }

  /** Another name of {@link set}. */
  header(name: string, value: HeaderValue): this;
  header(fields: Readonly<Record<string, HeaderValue>>): this;
  header(name: string | Readonly<Record<string, HeaderValue>>, value?: HeaderValue): this {
    return arguments.length < 2 ? this.set(name as Readonly<Record<string, HeaderValue>>) : this.set(name as string, value as HeaderValue);
  }

  /** Current value of a header field of the response. */
  get(name: string): Unchecked<OutgoingHttpHeader | undefined> {
    return this.getHeader(name);
  }

  /** Adds a value to a header field, keeping those it has. */
  append(name: string, value: string | readonly string[]): this {
    const before = this.getHeader(name);
    if (!before) return this.set(name, value);
    const values = Array.isArray(before) ? before : [String(before)];
    return this.set(name, values.concat(value));
  }

  /** Sets the Content-Type, by a media type or by an extension (`html`, `.png`). */
  type(type: string): this {
    return this.set('Content-Type', typeOf(type));
  }

  /** Another name of `type`. */
  contentType(type: string): this {
    return this.type(type);
  }

  /** Adds fields to Vary, each once (RFC 9110 section 12.5.5). */
  vary(field: string | string[]): this {
    vary()(this, field);
    return this;
  }

  /** Sets Location, percent-encoded where a URL needs it: no line end gets into the header. */
  location(url: string | URL): this {
    this.setHeader('Location', encodeUrl()(String(url)));
    return this;
  }

  /** Adds to Link (RFC 8288): `{ next: '/items?page=2' }`. */
  links(links: Readonly<Record<string, string | readonly string[]>>): this {
    const values: string[] = [];
    for (const [relation, urls] of Object.entries(links)) {
      const all = (Array.isArray(urls) ? urls : [urls]) as readonly string[];
      for (const url of all) values.push(`<${url}>; rel="${relation}"`);
    }
    const before = this.getHeader('Link');
    if (before !== undefined && before !== '') values.unshift(String(before));
    return this.set('Link', values.join(', '));
  }

  /** Has browsers save the body rather than show it. The filename, if given, names it, and its extension sets the type. */
  attachment(filename?: string): this {
    const name = filename === undefined ? undefined : basename(filename);
    if (name !== undefined && name !== '') this.type(extname(name));
    return this.set('Content-Disposition', contentDisposition().create(name));
  }

  /**
   * Sets a cookie (RFC 6265); objects are written as JSON.
   * @throws TypeError for what no cookie can hold; Error when `signed` has no secret.
   */
  cookie(name: string, value: unknown, options?: CookieOptions): this {
    return this.append('Set-Cookie', cookies().formatCookie(name, value, options ?? {}, cookieSecret(this)));
  }

  /** Has the browser forget a cookie; `path` and `domain` must be those it was set with. */
  clearCookie(name: string, options?: CookieOptions): this {
    return this.append('Set-Cookie', cookies().formatClearedCookie(name, options ?? {}, cookieSecret(this)));
  }

  override setHeader(name: string, value: number | string | readonly string[]): this {
    if (setKnown(this, name, value)) return this;
    const result = super.setHeader(name, value);
    // Node has refused anything else by now; a method in its place may not have.
    if (typeof name === 'string') learnName(name);
    if (!isAscii(value)) this[kLatin1] = true;
    return result;
  }

  override appendHeader(name: string, value: string | readonly string[]): this {
    if (!isAscii(value)) this[kLatin1] = true;
    return super.appendHeader(name, value);
  }
}

function setField(res: ServerResponse, name: string, value: HeaderValue | undefined): void {
  if (typeof name !== 'string') throw new TypeError(`The name of a header field must be a string, got ${inspect(name)}`);
  const text = Array.isArray(value) ? value.map(String) : String(value);
  if (name.toLowerCase() !== 'content-type') {
    res.setHeader(name, text);
    return;
  }
  if (typeof text !== 'string') throw new TypeError(`Content-Type cannot be set to an Array, got ${inspect(value)}: give one string`);
  res.setHeader(name, completeType(text));
}

/** The one that cookie-parser has left on the request. */
function cookieSecret(res: ServerResponse): unknown {
  return (res.req as { secret?: unknown } | undefined)?.secret;
}

/**
 * Holds a status code to what Node can send.
 * @throws TypeError when it is no integer.
 * @throws RangeError when it is not from 100 to 999.
 */
export function checkStatus(code: unknown): asserts code is number {
  if (!Number.isInteger(code)) {
    throw new TypeError(`Invalid status code ${inspect(code)}: give an integer from 100 to 999`);
  }
  if ((code as number) < 100 || (code as number) > 999) {
    throw new RangeError(`Invalid status code ${String(code)}: give one from 100 to 999`);
  }
}
