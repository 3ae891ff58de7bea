import { IncomingMessage, ServerResponse } from 'node:http';
import { type BodyStream, kCaptured } from './body/capture';
import { READS } from './node/injected-message';
import { Request } from './request';
import { kSettings as kRequestSettings } from './request-state';
import { Response } from './response';
import { kSettings as kResponseSettings } from './response-state';

/** Methods by which a response leaves. */
const WRITES: readonly string[] = ['writeHead', 'write', 'end', 'destroy', 'setHeader', 'appendHeader', 'writeContinue', 'flushHeaders'];

/** Whether a response leads to a request that it has not come with. */
const kLed = Symbol('waypost.response.led');

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
   * @throws TypeError for what is no request and response of HTTP/1.
   */
  adopt(req: Request, res: Response, next: Next | undefined): Next | undefined {
    if (this.#isOwn(req)) {
      if (!this.#answers(res)) this.#put(req, res);
      return next;
    }
    if (req.httpVersionMajor === 2 || typeof res.setHeader !== 'function') {
      throw new TypeError('the application was called with what is no request and response of HTTP/1; hand it to http.createServer or https.createServer');
    }
    const outer = [Object.getPrototypeOf(req), Object.getPrototypeOf(res)] as [object, object];
    this.#put(req, res);
    if (next === undefined) return undefined;
    return (error) => {
      Object.setPrototypeOf(req, outer[0]);
      Object.setPrototypeOf(res, outer[1]);
      next(error);
    };
  }

  /** Puts the application's prototypes back on, where another application has put its own: not in the place of what a program has made of them. */
  reclaim(req: Request, res: Response): void {
    if (!this.holds(req, res)) this.#put(req, res);
  }

  /** Whether both are the application's own still, or again. */
  holds(req: Request, res: Response): boolean {
    return this.#isOwn(req) && this.#answers(res);
  }

  /** To compare prototypes costs less than to ask for the settings, which is for those that somebody has put a prototype of his own before. */
  #isOwn(req: Request): boolean {
    return Object.getPrototypeOf(req) === this.#request || req[kRequestSettings] === (this.#request as Request)[kRequestSettings];
  }

  #answers(res: Response): boolean {
    return Object.getPrototypeOf(res) === this.#response || res[kResponseSettings] === (this.#response as Response)[kResponseSettings];
  }

  #put(req: Request, res: Response): void {
    const isCopy = isPlain(req);
    Object.setPrototypeOf(req, !isCopy && hasOwnWays(req, IncomingMessage.prototype, READS) ? layered(req, this.#request, IncomingMessage.prototype, READS) : this.#request);
    // The bytes of its body go to the request that it is a copy of.
    if (isCopy) (req as Partial<BodyStream>)[kCaptured] ??= 'consumed';
    // What is asked for before anything else. A request that a program has made may lack it, or have had it from the prototype that is gone.
    if (!Array.isArray(req.rawHeaders)) give(req, 'rawHeaders', []);
    if (typeof req.headers !== 'object' || req.headers === null) give(req, 'headers', {});
    Object.setPrototypeOf(res, hasOwnWays(res, ServerResponse.prototype, WRITES) ? layered(res, this.#response, ServerResponse.prototype, WRITES) : this.#response);
  }
}

/**
 * Has a response lead to a request that it has not come with: adapters of others make responses without one, and a program may have
 * made another request. When it has finished Node looks for the one it came with, and from 26.12 on ends the process where there is none.
 */
export function leadTo(req: Request, res: Response): void {
  const given = res as unknown as { req: Request | undefined; [kLed]?: true };
  const { req: received } = given;
  given.req = req;
  if (received === undefined || given[kLed] === true) return;
  given[kLed] = true;
  res.prependOnceListener('finish', () => {
    given.req = received;
  });
}

/**
 * Gives a request and its response, before any handler runs, the properties that Express makes their own: programs pick,
 * spread and look for them. Always in the same order, which V8 makes one shape of.
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

function give(req: Request, name: string, value: object): void {
  try {
    Object.defineProperty(req, name, { value, writable: true, configurable: true });
  } catch {
    // Fixed by a program.
  }
}

/** Whether it has no ways at all, such as `{ ...req }`: what it holds is for those of Node's class. */
function isPlain(message: object): boolean {
  const prototype = Object.getPrototypeOf(message) as object | null;
  return prototype === Object.prototype || prototype === null;
}

/**
 * Whether a message is none of Node's class, or of one made of it that reads or
 * writes otherwise: one of a test without a socket, such as light-my-request's.
 */
function hasOwnWays(message: object, node: object, ways: readonly string[]): boolean {
  const prototype = Object.getPrototypeOf(message) as object | null;
  // Waypost's own classes are there where another application has put them on.
  if (prototype === node || prototype === Request.prototype || prototype === Response.prototype) return false;
  return prototype === null || ways.some((name) => Object.hasOwn(prototype, name)) || hasOwnWays(prototype, node, ways);
}

/**
 * A prototype for such a message: first its own ways, then what an application's requests or responses have.
 * @param own What the application's inherit from. @param node The class of Node's at the end of it.
 */
function layered(message: object, own: object, node: object, ways: readonly string[]): object {
  const foreign = Object.getPrototypeOf(message) as object;
  const prototype = Object.create(foreign) as object;
  const chain: object[] = [];
  for (let each: object | null = own; each !== null && each !== node; each = Object.getPrototypeOf(each) as object | null) chain.unshift(each);
  for (const each of chain) {
    for (const key of Reflect.ownKeys(each)) {
      if (key === 'constructor' || ways.includes(key as string)) continue;
      Object.defineProperty(prototype, key, Object.getOwnPropertyDescriptor(each, key) as PropertyDescriptor);
    }
  }
  return prototype;
}
