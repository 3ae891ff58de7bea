import { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { inspect } from 'node:util';
import { accepts, proxyAddr, rangeParser, typeIs } from '../packages';
import { makeAssignable } from './assignable';
import { isHost } from './host';
import { bestOf } from './media-type';
import { fittedRange } from './range';
import { kSettings, type RequestSettings } from './request-state';
import type { Presumed } from './unchecked';

/** Some bytes of a representation: offsets of the first and the last, from 0. */
export interface ByteRange {
  start: number;
  end: number;
}

/** The ranges of a Range header, in order. */
export interface ByteRanges extends Array<ByteRange> {
  /** Unit as sent, such as `bytes`. */
  type: string;
}

/** Result of `req.range`: the ranges, -1 where none can be satisfied, -2 where the header is malformed. */
export type RangeResult = ByteRanges | -1 | -2;

/** Most entries of `X-Forwarded-For` that are read: each is compared with each trusted address. */
const MOST_ADDRESSES = 32;
/** Cache of `req.ip` and `req.ips`, with what they were made of. */
const kAddresses = Symbol('waypost.request.addresses');

interface Addresses {
  readonly field: string;
  readonly trustProxy: RequestSettings['trustProxy'];
  readonly from: string;
  readonly all: readonly string[];
}

/** Head of a request: its fields, what the client accepts, and where it came from (INTERFACE section 2.1). */
export class RequestHead extends IncomingMessage {
  /** @internal */
  declare [kSettings]: RequestSettings;

  /**
   * A header by its name in any case; `Referer` and `Referrer` are one.
   * @throws {TypeError} where the name is no text, or empty.
   */
  get(name: 'set-cookie' | 'Set-Cookie'): string[] | undefined;
  get(name: string): string | undefined;
  get(name: string): string | string[] | undefined {
    if (!name || typeof name !== 'string') {
      const wrong = name ? 'name must be a string to' : 'name argument is required to';
      throw new TypeError(`${wrong} req.get, got ${inspect(name)}: give it the name of a header, such as 'Content-Type'`);
    }
    const lower = name.toLowerCase();
    if (lower !== 'referer' && lower !== 'referrer') return this.headers[lower];
    return this.headers['referrer'] || this.headers.referer;
  }

  /** Another name of {@link get}. */
  header(name: 'set-cookie' | 'Set-Cookie'): string[] | undefined;
  header(name: string): string | undefined;
  header(name: string): string | string[] | undefined {
    return this.get(name);
  }

  /**
   * Tests the body's type (`'json'`, `'text/*'`, `'+xml'`). Returns the first
   * that matches, false where none does, null where there is no body.
   */
  is(...types: (string | readonly string[])[]): string | false | null {
    return typeIs()(this, types.flat());
  }

  /** The type that the client likes best of those given, false where it accepts none; with none given, all it accepts. */
  accepts(): string[];
  accepts(...types: (string | readonly string[])[]): string | false;
  accepts(...types: (string | readonly string[])[]): string | string[] | false {
    const names = listed(types);
    return names.length === 0 ? accepts()(this).types() : bestOf(this, names);
  }

  /** The same for content encodings. */
  acceptsEncodings(): string[];
  acceptsEncodings(...encodings: (string | readonly string[])[]): string | false;
  acceptsEncodings(...encodings: (string | readonly string[])[]): string | string[] | false {
    return accepts()(this).encodings(listed(encodings));
  }

  /** The same for charsets. */
  acceptsCharsets(): string[];
  acceptsCharsets(...charsets: (string | readonly string[])[]): string | false;
  acceptsCharsets(...charsets: (string | readonly string[])[]): string | string[] | false {
    return accepts()(this).charsets(listed(charsets));
  }

  /** The same for languages. */
  acceptsLanguages(): string[];
  acceptsLanguages(...languages: (string | readonly string[])[]): string | false;
  acceptsLanguages(...languages: (string | readonly string[])[]): string | string[] | false {
    return accepts()(this).languages(listed(languages));
  }

  /**
   * The Range header against a representation of `size` bytes (RFC 9110
   * section 14.2); undefined where there is none.
   * @param options `combine`: whether overlapping and adjacent ranges become one. Default false.
   */
  range(size: number, options?: { combine?: boolean }): RangeResult | undefined {
    const range = this.headers.range;
    return range ? rangeParser()(size, fittedRange(range, size), options) : undefined;
  }

  /**
   * Address of the client: of the socket, or behind trusted proxies the nearest one that is not trusted. Of `X-Forwarded-For` the last
   * 32 entries are read, those that the nearest proxies have written.
   */
  get ip(): string | undefined {
    const addresses = addressesOf(this);
    return addresses[addresses.length - 1];
  }

  /** Addresses behind trusted proxies, the client's first; empty where no proxy is trusted. */
  get ips(): string[] {
    // They come nearest first, and the nearest is the socket's.
    return addressesOf(this).slice(1).reverse();
  }

  /** `http` or `https`: of the socket, or as a trusted proxy says, which may say `ws` and `wss` too. */
  get protocol(): string {
    const own = 'encrypted' in this.socket && this.socket.encrypted ? 'https' : 'http';
    return forwarded(this, 'X-Forwarded-Proto', isScheme) ?? own;
  }

  /** True if `protocol` is `https`. */
  get secure(): boolean {
    return this.protocol === 'https';
  }

  /** Host with its port, from `Host` (RFC 9110 section 7.2). A trusted proxy's `X-Forwarded-Host` comes first, where it is a host. */
  get host(): Presumed<string> {
    return forwarded(this, 'X-Forwarded-Host', isHost) ?? (this.headers.host || undefined);
  }

  /** Host without its port; an IPv6 address keeps its brackets. */
  get hostname(): Presumed<string> {
    const { host } = this;
    if (host === undefined) return undefined;
    const colon = host.indexOf(':', host.startsWith('[') ? host.indexOf(']') + 1 : 0);
    return colon === -1 ? host : host.slice(0, colon);
  }

  /** Labels of the host name, the innermost first. The last two, or as many as are set, are left out. */
  get subdomains(): string[] {
    const { hostname } = this;
    if (!hostname) return [];
    const labels = isIP(hostname) ? [hostname] : hostname.split('.').reverse();
    return labels.slice(this[kSettings].subdomainOffset);
  }

  /** True if `X-Requested-With` says XMLHttpRequest. */
  get xhr(): boolean {
    return this.get('X-Requested-With')?.toLowerCase() === 'xmlhttprequest';
  }
}

makeAssignable(RequestHead.prototype, ['host', 'hostname', 'ip', 'ips', 'protocol', 'secure', 'subdomains', 'xhr']);

/** As in Express, an absent first one asks for none, such as an unset setting. */
function listed(asked: readonly (string | readonly string[])[]): string[] {
  return asked[0] ? asked.flat() : [];
}

/** The addresses that a request came by, nearest first, as far as they are trusted; made anew only where what they are made of has changed. */
function addressesOf(request: RequestHead & { [kAddresses]?: Addresses }): readonly string[] {
  const { socket } = request;
  const from = socket.remoteAddress as string;
  const field = request.get('X-Forwarded-For');
  if (!field) return [from];
  const { trustProxy } = request[kSettings];
  const known = request[kAddresses];
  if (known !== undefined && known.field === field && known.trustProxy === trustProxy && known.from === from) return known.all;
  const all = proxyAddr().all({ headers: { 'x-forwarded-for': lastEntries(field) }, socket } as unknown as IncomingMessage, trustProxy);
  request[kAddresses] = { field, trustProxy, from, all };
  return all;
}

/** The last entries of a list in a header, as many as are read. */
function lastEntries(field: string): string {
  let start = field.length;
  for (let entries = 0; entries < MOST_ADDRESSES && start !== -1; entries++) start = field.lastIndexOf(',', start - 1);
  return field.slice(start + 1);
}

/** The first of a list in a header, which the outermost trusted proxy wrote; undefined where no proxy is trusted, and for what is none. */
function forwarded(request: RequestHead, name: string, isOne: (text: string) => boolean): string | undefined {
  const { trustProxy } = request[kSettings];
  if (!trustProxy(request.socket.remoteAddress as string, 0)) return undefined;
  const first = request.get(name)?.split(',', 1)[0]?.trim();
  return first !== undefined && isOne(first) ? first : undefined;
}

/** True for a scheme that a request can have come by. */
function isScheme(text: string): boolean {
  return /^(?:http|ws)s?$/i.test(text);
}
