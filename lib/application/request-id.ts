import type { IncomingMessage } from 'node:http';
import { assign } from '../http/assignable';
import { isOwnStream } from '../http/node/buffered-body';
import { childOf, type Logger } from '../log/logger';
import type { ResolvedRequestId } from '../options/resolved';
import { crypto } from '../packages';
import type { SafeLog } from '../log/safe-log';

/** A valid id: no character with a meaning in logs, headers or URLs, and short enough for a log line. */
const VALID_ID = /^[\w.~:;=+/@-]{1,200}$/;

type IdentifiedRequest = IncomingMessage & { readonly id?: unknown };

/**
 * Defines `id` and `log` on the prototype of requests. The first access makes
 * an own property of the request.
 * @param given The application's logger, of which `req.log` is a child.
 * @param logger Told of a `generate` that throws.
 */
export function giveRequestIds(prototype: object, options: ResolvedRequestId, given: Logger, logger: SafeLog): void {
  defineLazily(prototype, 'id', (req) => receivedId(req, options.header) ?? generatedId(req, options, logger));
  defineLazily(prototype, 'log', (req) => childOf(given, { reqId: req.id }));
}

function receivedId(req: IncomingMessage, header: string | false): string | undefined {
  // A header sent twice is joined by a comma and a space, and so invalid.
  const received = header === false ? undefined : req.headers[header];
  return isValidId(received) ? received : undefined;
}

function generatedId(req: IncomingMessage, { generate }: ResolvedRequestId, logger: SafeLog): string {
  if (generate === undefined) return crypto().randomUUID();
  try {
    const id: unknown = generate(req);
    if (isValidId(id)) return id;
    logger.warn({ id }, 'logging.requestId.generate must return a string of 1 to 200 characters, each a letter, a digit or one of _.~:;=+/@-: a UUID is taken in its place');
  } catch (error) {
    logger.error({ err: error }, 'logging.requestId.generate has thrown: a UUID is taken in its place');
  }
  return crypto().randomUUID();
}

function isValidId(id: unknown): id is string {
  return typeof id === 'string' && VALID_ID.test(id);
}

function defineLazily(prototype: object, name: 'id' | 'log', make: (req: IdentifiedRequest) => unknown): void {
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: IdentifiedRequest): unknown {
      // Copying or printing reads prototypes too, which are no requests.
      if (!Object.hasOwn(this, 'rawHeaders') && !Object.hasOwn(this, 'headers') && !isOwnStream(this)) return undefined;
      const value = make(this);
      assign(this, name, value);
      return value;
    },
    set(this: object, value: unknown) {
      assign(this, name, value);
    },
  });
}
