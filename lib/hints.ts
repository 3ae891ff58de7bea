import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { placeIn } from './call-site';
import { read } from './errors';

/** V8's message for a call of a value that is no function. */
const CALL = /^(\w+)\.(\w+) is not a function$/;

/** Longest message that is looked at, in UTF-16 units: one may hold what a client has sent. */
const LONGEST = 200;

/** Calls of other frameworks on the request, and the member to use instead. */
const OF_REQUESTS: Readonly<Record<string, string>> = {
  json: 'req.body', text: 'req.body', formData: 'req.body', parseBody: 'req.body', arrayBuffer: 'req.rawBody', blob: 'req.rawBody', param: 'req.params',
};

/** Calls of other frameworks that answer, and the call to use instead. */
const OF_RESPONSES: Readonly<Record<string, string>> = {
  code: 'res.status(code)', json: 'res.json(data)', text: 'res.send(text)', html: 'res.send(html)', body: 'res.send(data)', set: 'res.locals.name = value',
  throw: 'throw new HttpError(status, code, message)', assert: 'throw new HttpError(status, code, message)', notFound: 'res.status(404)', redirect: 'res.redirect(url)',
};

/** A field of a line of the log: what to write instead. */
export interface Hint {
  readonly hint?: string;
}

/** Advice for a call that V8 has refused and Fastify, Koa or Hono know; for the log. */
function hintForCall(error: unknown): string | undefined {
  const message = read(error, 'message');
  const [, receiver = '', method = ''] = (typeof message === 'string' && message.length <= LONGEST && CALL.exec(message)) || [];
  const table = /^req/i.test(receiver) ? OF_REQUESTS : OF_RESPONSES;
  return Object.hasOwn(table, method) ? `a handler is given (req, res, next): write ${table[method] as string}` : undefined;
}

/** V8's messages for a member of undefined: read or set, and destructured, which names the source text. */
const OF_UNDEFINED = /^Cannot (?:read|set) properties of undefined \((?:reading|setting) '(.*)'\)$/s;
const TAKEN_OUT = /^Cannot destructure (?:property '[^']*' of )?'(?:\w+\.)?(\w+)' as it is undefined\.$/;

/** V8's other messages about undefined. */
const ABOUT_UNDEFINED = /^(?:[\w.]+ is not iterable|undefined is not iterable .*|Cannot convert undefined or null to object|Cannot use 'in' operator to search for .* in undefined)$/s;
/** A member of a request in the line that has raised one. */
const MEMBER = /\breq(?:uest)?\.(\w+)\s*(?:[)\];,]|$)/;

/** Matches the end of a line up to V8's position, less the member's name. */
const HOLDER = /(?<![\w$])([\w$]+)\s*(?:[?!]?\.|\[[^\]]*|:\s*\{[^{}]*)?$/;

/** Middleware that sets members of a request; `body` depends on the request. */
const SET_BY: Readonly<Record<string, string>> = {
  cookies: 'put app.use(cookieParser()), of the package cookie-parser, above it',
  signedCookies: 'put app.use(cookieParser(secret)), of the package cookie-parser, above it',
  session: 'put app.use(session({ … })), of the package express-session, above it',
  file: 'put upload.single(name), of the package multer, before it; the request must be multipart',
  files: 'put upload.array(name), of the package multer, before it; the request must be multipart',
};

/** Advice for a TypeError about an undefined member of the request. Reads the program's line that has thrown. */
export function hintForMember(error: unknown, request: IncomingMessage): string | undefined {
  const message = read(error, 'message');
  if (read(error, 'name') !== 'TypeError' || typeof message !== 'string' || message.length > LONGEST) return undefined;
  const place = placeIn(read(error, 'stack'));
  const member = TAKEN_OUT.exec(message)?.[1] ?? holderOf(OF_UNDEFINED.exec(message)?.[1], place) ?? (ABOUT_UNDEFINED.test(message) ? MEMBER.exec(textBefore(place, Infinity))?.[1] : undefined);
  if (member === undefined || read(request, member) !== undefined) return undefined;
  const instead = member === 'body' ? parserFor(request) : Object.hasOwn(SET_BY, member) ? SET_BY[member] : undefined;
  return instead && `req.${member} is undefined: ${instead}`;
}

function holderOf(name: string | undefined, place: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const text = textBefore(place).trimEnd();
  return HOLDER.exec(text.endsWith(`.${name}`) ? text.slice(0, -name.length) : text)?.[1];
}

/** The text of a line up to a place in it, or to another column; empty where the file is not to be had. */
function textBefore(place: string | undefined, end?: number): string {
  const [, file = '', line, column] = /^(.*):(\d+):(\d+)$/.exec(place ?? '') ?? [];
  try {
    return readFileSync(file, 'utf8').split('\n', Number(line)).at(-1)?.slice(0, end ?? Number(column) - 1) ?? '';
  } catch {
    return '';
  }
}

function parserFor({ headers }: IncomingMessage): string {
  if (headers['transfer-encoding'] === undefined && !(Number(headers['content-length']) > 0)) return 'the request has no body';
  const type = /^[\w.+-]+\/[\w.+-]+/.exec(headers['content-type'] ?? '')?.[0].toLowerCase();
  if (type === undefined) return 'the request has no Content-Type; send one, such as application/json';
  if (type.startsWith('multipart/')) return 'the request is multipart; put multer before it';
  const parser = /[/+]json$/.test(type) ? 'json()' : type === 'application/x-www-form-urlencoded' ? 'urlencoded()' : type === 'text/plain' ? 'text()' : `raw({ type: '${type}' })`;
  return `nothing has parsed a body of ${type}; put app.use(${parser}), which waypost exports, above it`;
}

/** JSON.stringify's messages for data that it refuses. */
const UNWRITTEN = /BigInt|circular/;

/** The member of the data that JSON.stringify has refused, and what to write. */
export function hintForData(error: unknown, data: unknown): Hint {
  const message = read(error, 'message');
  if (read(error, 'name') !== 'TypeError' || typeof message !== 'string' || !UNWRITTEN.test(message)) return {};
  const found = unwritten(data);
  return found === undefined ? {} : { hint: `${found.path === '' ? 'the data itself' : found.path.slice(0, LONGEST)} is ${found.kind}: write res.xJson(data)` };
}

/** Has JSON.stringify go to the first member that it does not write. */
function unwritten(data: unknown): { readonly path: string; readonly kind: string } | undefined {
  const holders: unknown[] = [];
  const names: string[] = [];
  let found: { path: string; kind: string } | undefined;
  try {
    JSON.stringify(data, function (this: unknown, name: string, value: unknown) {
      holders.length = holders.lastIndexOf(this) + 1;
      if (holders.length === 0) holders.push(this);
      names.length = holders.length - 1;
      names.push(Array.isArray(this) ? `[${name}]` : /^[a-z_$][\w$]*$/i.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`);
      const kind = typeof value === 'bigint' ? 'a big integer' : typeof value === 'object' && value !== null && holders.includes(value) ? 'a circular reference' : undefined;
      if (kind !== undefined) {
        found = { path: names.slice(1).join('').replace(/^\./, ''), kind };
        throw new TypeError(kind);
      }
      if (typeof value === 'object' && value !== null) holders.push(value);
      return value;
    });
  } catch {
    // Found, or it is as far as a program's own methods let us look.
  }
  return found;
}

/** Node's codes for an answer behind another. */
const SECOND: readonly unknown[] = ['ERR_HTTP_HEADERS_SENT', 'ERR_STREAM_WRITE_AFTER_END'];

/** Advice for an error while a request is answered. @param first Place of the first answer. */
export function hintForFailure(error: unknown, first: string | undefined): Hint {
  const hint = hintForCall(error) ?? (first !== undefined && SECOND.includes(read(error, 'code')) ? `the first answer was sent at ${first}: return behind it` : undefined);
  return hint === undefined ? {} : { hint };
}

/** Advice for a server that can't listen, by the system's code. */
const UNHEARD: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process has the port: name another by the environment variable PORT or start(port), or write start(0) for any free one',
  EACCES: 'the system keeps the port, as it does those below 1024: name another by the environment variable PORT or start(port)',
  EADDRNOTAVAIL: 'no network interface of this machine has the address: leave out the host, or name one that is its own',
};

export function hintForListening(error: unknown): Hint {
  const code = read(error, 'code');
  return typeof code === 'string' && Object.hasOwn(UNHEARD, code) ? { hint: UNHEARD[code] } : {};
}

/** A request that a check of signatures has refused. */
interface RefusedRequest {
  readonly method: string;
  readonly headers: IncomingMessage['headers'];
  /** The target as the application reads it that checks. */
  readonly url: string;
}

/** Advice for a request whose signature was refused. @param debug Whether the log shows what was compared. */
export function hintForSignature({ method, headers, url }: RefusedRequest, debug: boolean): Hint {
  if (method === 'OPTIONS' && headers['access-control-request-method'] !== undefined) {
    const path = /^(?:\/[\w.~-]+)+(?=\/?(?:\?|$))/.exec(url.slice(0, LONGEST))?.[0] ?? '/**';
    return { hint: `a browser's CORS preflight can't be signed: put { path: ${JSON.stringify(path)}, methods: ['OPTIONS'] } into security.routeConfig.requestSignature.excludeRoutes` };
  }
  return debug ? {} : { hint: 'the option debug: true, beside secret, logs what the server has taken for signed' };
}
