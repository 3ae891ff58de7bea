import type { IncomingMessage } from 'node:http';
import { HttpError } from '../errors';
import { accepts, contentType, mimeTypes } from '../packages';

/** Default type of `res.json`. RFC 8259 section 11 has no charset; clients of Express expect one. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** Default type of `res.send` for text. */
export const HTML_TYPE = 'text/html; charset=utf-8';

/** Default type of `res.send` for bytes. */
export const BINARY_TYPE = 'application/octet-stream';

/** Media type of a short name (`html`, `.png`, `json`), with its charset; a full type is itself. */
export function typeOf(name: string): string {
  if (name.includes('/')) return name;
  return mimeTypes().contentType(name) || BINARY_TYPE;
}

/** The value as a Content-Type field holds it: a charset is added where the type has a usual one. */
export function completeType(value: string): string {
  return mimeTypes().contentType(value) || value;
}

/** The type with `charset=utf-8`, whatever charset it named before: strings leave the process as UTF-8. */
export function asUtf8(type: string): string {
  if (type === JSON_TYPE || type === HTML_TYPE) return type;
  const parsed = contentType().parse(type);
  parsed.parameters['charset'] = 'utf-8';
  try {
    return contentType().format(parsed);
  } catch {
    // Not a media type: the application's own words, sent as they are.
    return type;
  }
}

/** The bare media type of a type or an extension, without parameters: what a representation is negotiated by. */
export function essenceOf(name: string): string {
  if (!name.includes('/')) return mimeTypes().lookup(name) || BINARY_TYPE;
  return (name.split(';', 1)[0] ?? name).trim();
}

/** The type that a request likes best of those given, false for none. Text leaves as UTF-8: a client that asks for `application/json;charset=utf-8` asks for what `json` is (RFC 9110 section 12.5.1). */
export function bestOf(req: IncomingMessage, types: string[]): string | false {
  if (!/charset/i.test(req.headers.accept ?? '')) return accepts()(req).type(types) as string | false;
  const offered = types.map((type) => (type.includes(';') || type.includes('*') ? type : `${type.includes('/') ? type : mimeTypes().lookup(type)}; charset=utf-8`));
  const best = accepts()(req).type(offered) as string | false;
  return best && (types[offered.indexOf(best)] as string);
}

/** The first of the types that the client prefers; of a response without a request, the first. */
export function acceptedOf({ req }: { readonly req?: IncomingMessage }, types: string[]): string | false | undefined {
  if (req === undefined) return types[0];
  const { accepts: own } = req as { accepts?: (types: string[]) => unknown };
  // As in Express the request is asked, whose method a program may have replaced.
  return (own === undefined ? bestOf(req, types) : own.call(req, types)) as string | false;
}

/** The error where the client accepts none of the types (RFC 9110 section 15.5.7). */
export function notAcceptable(types: readonly string[]): HttpError {
  const error = HttpError.of('NOT_ACCEPTABLE', `The response can be had as ${types.join(', ') || 'nothing'}`);
  return Object.assign(error, { types });
}
