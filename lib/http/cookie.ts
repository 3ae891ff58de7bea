import type { SerializeOptions } from 'cookie';
import { cookie, cookieSignature } from '../packages';

/** Options of `res.cookie` and `res.clearCookie` (RFC 6265 section 4.1). */
export interface CookieOptions {
  /**
   * Life of the cookie in milliseconds from now; sets both Max-Age and Expires.
   * @default none: the cookie lives as long as the browser's session
   */
  maxAge?: number | null | undefined;
  /** The moment the cookie ends; `maxAge` overrides it. @default none */
  expires?: Date | undefined;
  /** Path beneath which the cookie is sent. @default '/' */
  path?: string | null | undefined;
  /** Domain to which the cookie is sent. @default none: the host that set it */
  domain?: string | undefined;
  /** Sent over HTTPS only. @default false */
  secure?: boolean | undefined;
  /** Hidden from scripts in the page. @default false */
  httpOnly?: boolean | undefined;
  /** Kept apart for each top-level site. @default false */
  partitioned?: boolean | undefined;
  /** Priority by which a browser gives up cookies, the lowest first. @default none */
  priority?: 'low' | 'medium' | 'high' | undefined;
  /** Limits the cookie in requests from other sites; `true` is `'strict'`. @default none */
  sameSite?: boolean | 'lax' | 'strict' | 'none' | undefined;
  /** Signed with the secret of cookie-parser, so that a changed value is noticed. @default false */
  signed?: boolean | undefined;
  /** How the value is made safe for a header. @default encodeURIComponent */
  encode?: ((value: string) => string) | undefined;
}

/**
 * Writes a Set-Cookie value. An object is written as `j:` and its JSON, a
 * signed value as `s:` and the value with its HMAC: the forms cookie-parser reads.
 * @throws TypeError for a name, value or option that no cookie can hold.
 * @throws Error when `signed` is asked for and there is no secret.
 */
export function formatCookie(name: string, value: unknown, given: CookieOptions, secret: unknown): string {
  const { signed, maxAge, path, ...rest } = given;
  // eslint-disable-next-line @typescript-eslint/no-base-to-string -- an object is written as JSON
  let text = typeof value === 'object' ? `j:${JSON.stringify(value)}` : String(value);
  // As in Express by any true value: a cookie that was to be signed must not go out unsigned.
  if (signed) text = `s:${cookieSignature().sign(text, secretFor(name, secret))}`;
  const options: SerializeOptions = { ...rest, path: path ?? '/' };
  if (maxAge !== undefined && maxAge !== null) {
    const milliseconds = Number(maxAge);
    if (!Number.isFinite(milliseconds)) {
      throw new TypeError(`The option maxAge is invalid for cookie "${name}": give a number of milliseconds, got ${milliseconds}`);
    }
    options.expires = new Date(Date.now() + milliseconds);
    options.maxAge = Math.floor(milliseconds / 1000);
  }
  // Name as text: the package reads an object, such as a query may hold, as options.
  return cookie().serialize(String(name), text, options);
}

/** Writes the Set-Cookie value that makes a browser forget the cookie; `path` and `domain` must be those it was set with. */
export function formatClearedCookie(name: string, given: CookieOptions, secret: unknown): string {
  // A life given by mistake would keep alive what is to go.
  return formatCookie(name, '', { ...given, maxAge: undefined, expires: new Date(1) }, secret);
}

function secretFor(name: string, secret: unknown): string {
  if (typeof secret === 'string' && secret !== '') return secret;
  throw new Error(`cookieParser("secret") required for signed cookies such as "${name}": put app.use(cookieParser(secret)) before the handler that sets it`);
}
