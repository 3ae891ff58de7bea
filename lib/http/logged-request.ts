import type { IncomingMessage, ServerResponse } from 'node:http';
import { read, statusOf } from '../errors';
import { kOriginalMethod } from './request-state';

/** Longest value of a field that the log holds, in UTF-16 units: it is the client's. */
const LONGEST = 200;

/** Parser options by the `type` of body-parser's errors. Each sets the limit, or takes what was refused. */
const PARSER_OPTIONS: Readonly<Record<string, string>> = {
  'entity.too.large': 'limit', 'parameters.too.many': 'parameterLimit', 'encoding.unsupported': 'inflate', 'charset.unsupported': 'type',
};

/** Fields that log lines say of a request, with its id if any. */
export function loggedRequest(req: IncomingMessage & { readonly [kOriginalMethod]?: string | undefined; readonly id?: unknown; readonly originalUrl?: unknown }): object {
  const { id, method, originalUrl, url } = req;
  const named = { method: req[kOriginalMethod] ?? method, url: originalUrl ?? url };
  return typeof id === 'string' || typeof id === 'number' ? { reqId: id, ...named } : named;
}

/** The same of a response's request; nothing without a request. */
export function requestOf({ req }: Partial<ServerResponse>): object {
  return req === undefined ? {} : loggedRequest(req);
}

/** Fields that the log says of a body refused by 413 or 415; undefined for any other error. */
export function refusedBody(error: unknown, request: Partial<IncomingMessage> | undefined): object | undefined {
  const status = statusOf(error);
  if (status !== 413 && status !== 415) return undefined;
  const type = read(error, 'type');
  const parserOption = typeof type === 'string' ? PARSER_OPTIONS[type] : undefined;
  const { headers } = request ?? {};
  return {
    status, code: read(error, 'code') ?? type, limit: read(error, 'limit'),
    option: read(error, 'option') ?? (parserOption && `${parserOption} of the parser that the program uses`),
    type: short(headers?.['content-type']), encoding: short(headers?.['content-encoding']), length: short(headers?.['content-length']),
    ...(request !== undefined && loggedRequest(request as IncomingMessage)),
  };
}

function short(value: string | undefined): string | undefined {
  return value?.slice(0, LONGEST);
}
