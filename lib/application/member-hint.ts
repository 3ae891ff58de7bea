import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { placeIn } from '../call-site';
import { read } from '../errors';

/** Longest message that is looked at, in UTF-16 units: one may hold what a client has sent. */
const LONGEST = 200;

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
  if (member === undefined || (request as unknown as Record<string, unknown>)[member] !== undefined) return undefined;
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
