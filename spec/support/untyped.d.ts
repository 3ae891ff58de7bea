// Packages that come without types, as far as the specs use them.

declare module 'connect-history-api-fallback' {
  import type { RequestHandler } from 'express';
  function history(options?: { index?: string; rewrites?: { from: RegExp; to: string }[] }): RequestHandler;
  export = history;
}

declare module 'connect-timeout' {
  import type { RequestHandler } from 'express';
  function timeout(time: string | number, options?: { respond?: boolean }): RequestHandler;
  export = timeout;
}

declare module 'express-http-proxy' {
  import type { IncomingMessage } from 'node:http';
  import type { RequestHandler } from 'express';
  function proxy(host: string | (() => string), options?: {
    parseReqBody?: boolean;
    limit?: string;
    proxyReqPathResolver?: (req: IncomingMessage) => string;
    userResDecorator?: (answer: IncomingMessage, data: Buffer) => Buffer | string;
  }): RequestHandler;
  export = proxy;
}

declare module 'hpp' {
  import type { RequestHandler } from 'express';
  function hpp(options?: { whitelist?: string[]; checkBody?: boolean; checkQuery?: boolean }): RequestHandler;
  export = hpp;
}

declare module 'passport-jwt' {
  import type { Strategy as PassportStrategy } from 'passport';
  export const ExtractJwt: { fromAuthHeaderAsBearerToken(): (req: unknown) => string | null };
  export class Strategy implements PassportStrategy {
    constructor(options: { jwtFromRequest: (req: unknown) => string | null; secretOrKey: string }, verify: (payload: { sub: string }, done: (error: unknown, user?: object | false) => void) => void);
    name: string;
    authenticate(): void;
  }
}

declare module 'serve-favicon' {
  import type { RequestHandler } from 'express';
  function favicon(icon: string | Buffer, options?: { maxAge?: number }): RequestHandler;
  export = favicon;
}

declare namespace Express {
  interface Request {
    /** Of connect-timeout. */
    timedout?: boolean;
    /** Of cookie-parser, whose types leave it out. */
    secret?: string;
  }
}

declare module 'hbs' {
  export function registerPartial(name: string, text: string): void;
  export function registerHelper(name: string, helper: (...given: never[]) => unknown): void;
}

declare module 'express4' {
  import express from 'express';
  export = express;
}
