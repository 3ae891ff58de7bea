import { IncomingMessage, ServerResponse } from 'node:http';
import type { Request } from './request';
import type { Response } from './response';

/** Goes on with who has called the application as middleware. */
type Next = (error?: unknown) => void;

/** Makes requests and responses an application's own, by their prototypes, and leaves them again. */
export class Adoption {
  readonly #request: object;
  readonly #response: object;

  /** @param request Prototype of the application's requests. @param response Of its responses. */
  constructor(request: object, response: object) {
    this.#request = request;
    this.#response = response;
  }

  /**
   * Adopts what the application is called with, and returns how to leave it again.
   * @throws TypeError for what is neither Node's nor made of it.
   */
  adopt(req: Request, res: Response, next: Next | undefined): Next | undefined {
    if (isMadeOf(req, this.#request)) {
      if (!isMadeOf(res, this.#response)) Object.setPrototypeOf(res, this.#response);
      return next;
    }
    if (!((req as unknown) instanceof IncomingMessage) || !((res as unknown) instanceof ServerResponse)) {
      throw new TypeError('the application was called with what is no http.IncomingMessage and http.ServerResponse; hand it to http.createServer or https.createServer');
    }
    const outer = [Object.getPrototypeOf(req), Object.getPrototypeOf(res)] as [object, object];
    Object.setPrototypeOf(req, this.#request);
    Object.setPrototypeOf(res, this.#response);
    if (next === undefined) return undefined;
    return (error) => {
      Object.setPrototypeOf(req, outer[0]);
      Object.setPrototypeOf(res, outer[1]);
      next(error);
    };
  }

  /** Puts the application's prototypes back on, where a foreign application has put its own. */
  reclaim(req: Request, res: Response): void {
    if (Object.getPrototypeOf(req) === this.#request && Object.getPrototypeOf(res) === this.#response) return;
    Object.setPrototypeOf(req, this.#request);
    Object.setPrototypeOf(res, this.#response);
  }

  /** Whether both are the application's own still, or again. */
  holds(req: Request, res: Response): boolean {
    return isMadeOf(req, this.#request) && isMadeOf(res, this.#response);
  }
}

/** To compare prototypes costs less than to look for one in the chain, which is for those that somebody has put one of his own before. */
function isMadeOf(message: object, prototype: object): boolean {
  return Object.getPrototypeOf(message) === prototype || Object.prototype.isPrototypeOf.call(prototype, message);
}

/**
 * Gives a request and its response, before any handler runs, the properties
 * that Express makes their own: programs pick them, spread them, and ask with
 * `in` whether they are there. Always in the same order, which V8 makes one
 * shape of.
 * @param parses Whether the application parses bodies: `req.body` is there then, as behind a parser of Express.
 */
export function giveOwnProperties(req: Request, res: Response, parses: boolean): void {
  giveOwnTarget(req);
  if (parses) giveOwnBody(req);
  res.locals ??= Object.create(null) as Record<string, unknown>;
}

/** The part of them that tells where a request goes, which one to switch protocols has as well. */
export function giveOwnTarget(req: Request): void {
  const { baseUrl } = req;
  req.originalUrl ||= req.url;
  req.baseUrl = baseUrl;
  req.params ??= {};
}

/** For each application that parses: one that has the request before may not. */
export function giveOwnBody(req: Request): void {
  if (!('body' in req)) (req as Request).body = undefined;
}
