import type { IncomingMessage } from 'node:http';
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
  return debug ? {} : { hint: 'the option debug: true of security.requestSignature, or of the webhook, logs what the server has taken for signed' };
}
