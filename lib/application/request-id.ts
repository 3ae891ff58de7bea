import type { IncomingMessage } from 'node:http';
import { read } from '../errors';
import { assign } from '../http/assignable';
import { childOf, type Logger } from '../log/logger';
import type { ResolvedRequestId } from '../options/resolved';
import { crypto } from '../packages';
import type { SafeLog } from '../log/safe-log';

/** What may be an id, whoever gave it: no letter that a log, a header or a URL takes for more than itself, and no more than a line bears. */
const FIT = /^[\w.~:;=+/@-]{1,200}$/;

type Named = IncomingMessage & { readonly id?: unknown };

/**
 * Gives requests `id` and `log`, by their prototype: both are made when they
 * are first asked for, and are the request's own from then on.
 * @param given The application's logger, of which `req.log` is a child.
 * @param logger Told of a `generate` that throws.
 */
export function giveRequestIds(prototype: object, options: ResolvedRequestId, given: Logger, logger: SafeLog): void {
  defineOnce(prototype, 'id', (req) => receivedId(req, options.header) ?? generatedId(req, options, logger));
  defineOnce(prototype, 'log', (req) => childLog(req, given));
}

function receivedId(req: IncomingMessage, header: string | false): string | undefined {
  // Sent twice, it is joined by a comma and a space, and so unfit.
  const received = header === false ? undefined : read(read(req, 'headers'), header);
  return isFit(received) ? received : undefined;
}

function generatedId(req: IncomingMessage, { generate }: ResolvedRequestId, logger: SafeLog): string {
  if (generate === undefined) return crypto().randomUUID();
  try {
    const id: unknown = generate(req);
    if (isFit(id)) return id;
    logger.warn({ id }, 'logging.requestId.generate must return a string of 1 to 200 characters, each a letter, a digit or one of _.~:;=+/@-: a UUID is taken in its place');
  } catch (error) {
    logger.error({ err: error }, 'logging.requestId.generate has thrown: a UUID is taken in its place');
  }
  return crypto().randomUUID();
}

function isFit(id: unknown): id is string {
  return typeof id === 'string' && FIT.test(id);
}

function childLog(req: Named, given: Logger): Logger {
  try {
    return childOf(given, { reqId: req.id });
  } catch {
    // A logger that fails harms no request.
    return given;
  }
}

function defineOnce(prototype: object, name: 'id' | 'log', make: (req: Named) => unknown): void {
  Object.defineProperty(prototype, name, {
    configurable: true,
    get(this: Named): unknown {
      // Prototypes are asked too, by what copies or prints them: they are no requests.
      if (!Object.hasOwn(this, 'rawHeaders') && !Object.hasOwn(this, 'headers')) return undefined;
      const value = make(this);
      // Of one that a program has sealed it is made each time: lines of the log ask where a throw would end the process.
      if (Object.isExtensible(this)) assign(this, name, value);
      return value;
    },
    set(this: object, value: unknown) {
      assign(this, name, value);
    },
  });
}
