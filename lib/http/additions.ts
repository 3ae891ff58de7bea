import type { IncomingMessage } from 'node:http';
import type { Logger } from '../log/logger';
import type { Presumed, Unchecked } from './unchecked';

/* eslint-disable @typescript-eslint/no-namespace, @typescript-eslint/no-empty-object-type -- filled in by others, by declaration merging */
declare global {
  /** Where packages written for Express (passport, multer, express-session) and programs declare what they add. */
  namespace Express {
    interface Request {}
    interface Response {}
    interface Locals {}
    interface Application {}
    interface User {}
  }
}
/* eslint-enable @typescript-eslint/no-namespace, @typescript-eslint/no-empty-object-type */

/** What middleware is known to add, or an option, typed as far as that can be without its types. */
interface UsualAdditions {
  /** The request's own name in the log, with `logging.requestId`. @default undefined */
  id: Presumed<string>;
  /** A logger that adds `id` to its lines, with `logging.requestId`. @default undefined */
  log: Presumed<Logger>;
  /** Left to middleware of the application: waypost never sets it (INTERFACE section 2.1). */
  user?: keyof Express.User extends never ? unknown : Express.User | undefined;
  /** Cookies by name, once cookie-parser has read them. */
  cookies: Presumed<Record<string, Unchecked>>;
  /** Those of the cookies whose signature holds; false where it does not. Set by cookie-parser. */
  signedCookies: Presumed<Record<string, Unchecked>>;
  /** The secret that cookies are signed with. Set by cookie-parser. */
  secret?: string | undefined;
}

/** What programs and packages have declared of requests in the namespace `Express`, and {@link UsualAdditions} that none of them has, nor Node's own class (pino-http declares it there). */
export type RequestAdditions = Express.Request & Omit<UsualAdditions, keyof Express.Request | keyof IncomingMessage>;

/** What they have declared of responses. */
export type ResponseAdditions = Express.Response;

/** What they have declared of applications. */
export type ApplicationAdditions = Express.Application;
