import type { IncomingMessage } from 'node:http';
import type { Logger } from '../log/logger';
import type { Presumed, Unchecked } from './unchecked';

/* eslint-disable @typescript-eslint/no-namespace, @typescript-eslint/no-empty-object-type -- filled in by others, by declaration merging */
declare global {
  /** Interfaces that packages written for Express (passport, multer, express-session) and programs fill in. */
  namespace Express {
    interface Request {}
    interface Response {}
    interface Locals {}
    interface Application {}
    interface User {}
  }
}
/* eslint-enable @typescript-eslint/no-namespace, @typescript-eslint/no-empty-object-type */

/** Fields that known middleware, or an option, adds, typed without that middleware's types. */
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

/** Request fields declared in the namespace `Express`, and the other {@link UsualAdditions}. Fields that Node's class has already are left out (pino-http declares `id` and `log` there). */
export type RequestAdditions = Express.Request & Omit<UsualAdditions, keyof Express.Request | keyof IncomingMessage>;

/** Response fields declared in the namespace `Express`. */
export type ResponseAdditions = Express.Response;

/** Application fields declared in the namespace `Express`. */
export type ApplicationAdditions = Express.Application;
