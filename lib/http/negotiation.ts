import type { IncomingMessage } from 'node:http';
import { HttpError } from '../errors';
import { accepts } from '../packages';
import type { Request } from './request';

/** The first of the types that the client prefers; of a response without a request, the first. */
export function acceptedOf({ req }: { readonly req?: IncomingMessage }, types: string[]): string | false | undefined {
  if (req === undefined) return types[0];
  const { accepts: own } = req as Partial<Pick<Request, 'accepts'>>;
  // As in Express the request is asked, whose method a program may have replaced.
  return (own === undefined ? accepts()(req).type(types) : own.call(req, types)) as string | false;
}

/** The error where the client accepts none of the types (RFC 9110 section 15.5.7). */
export function notAcceptable(types: readonly string[]): HttpError {
  const error = HttpError.of('NOT_ACCEPTABLE', `The response can be had as ${types.join(', ') || 'nothing'}`);
  return Object.assign(error, { types });
}
