import { IncomingMessage, ServerResponse } from 'node:http';
import { defineHidden } from './assignable';
import { type BodyStream, kCaptured } from './body/capture';
import { READS } from './node/injected-message';
import type { Http2Classes } from './http2-classes';
import { forgetQuery, Request } from './request';
import { isHttp2, kQuery, kSettings as kRequestSettings } from './request-state';
import { Response } from './response';
import { kSettings as kResponseSettings } from './response-state';
import { late } from '../packages';

const http2 = late(() => require('./http2-classes') as typeof import('./http2-classes'));

/** Methods by which a response leaves. */
const WRITES: readonly string[] = ['writeHead', 'write', 'end', 'destroy', 'setHeader', 'appendHeader', 'writeContinue', 'flushHeaders'];

/** Set on a response whose `req` is not the request it came with. */
const kRequestReplaced = Symbol('waypost.response.requestReplaced');

/** Goes on in the caller of the application as middleware. */
type Next = (error?: unknown) => void;

/** Makes requests and responses an application's own, by their prototypes, and leaves them again. */
export class Adoption {
  readonly #request: object;
  readonly #response: object;
  #http2: Http2Classes | undefined;

  /** @param request Prototype of the application's requests. @param response Of its responses. */
  constructor(request: object, response: object) {
    this.#request = request;
    this.#response = response;
  }

  /** The classes of its requests and responses of HTTP/2. */
  get http2(): Http2Classes {
    return (this.#http2 ??= new (http2().Http2Classes)(this.#request, this.#response));
  }

  /**
   * Adopts a request and its response, and returns the `next` that leaves them again.
   * @param isWithin True inside another waypost application.
   * @throws TypeError for what is no request and response of HTTP.
   */
  adopt(req: Request, res: Response, next: Next | undefined, isWithin: boolean): Next | undefined {
    if (this.#isOwn(req)) {
      if (!this.#answers(res)) this.#put(req, res);
      return next;
    }
    if (typeof res.setHeader !== 'function') {
      throw new TypeError('the application was called with what is no request and response of HTTP; hand it to http.createServer or https.createServer');
    }
    const outer = [Object.getPrototypeOf(req), Object.getPrototypeOf(res)] as [Partial<Request>, object];
    const isAround = isWithin || (typeof req.next === 'function' && isOfFramework(outer[1]));
    this.#put(req, res);
    const readsAlike = outer[0][kRequestSettings]?.queryParser === req[kRequestSettings].queryParser;
    // As in Express, an application with another parser does not share its query. One inside a waypost application finds what was read before, and cleaned.
    if (!isWithin && !readsAlike) forgetQuery(req);
    if (next === undefined || !isAround) return next;
    const { [kQuery]: query } = req;
    return (error) => {
      Object.setPrototypeOf(req, outer[0]);
      Object.setPrototypeOf(res, outer[1]);
      if (!readsAlike && req[kQuery] !== query) forgetQuery(req);
      next(error);
    };
  }

  /** Restores the application's prototypes where another application has put its own. Prototypes that the program derived from them stay. */
  reclaim(req: Request, res: Response): void {
    if (!this.holds(req, res)) this.#put(req, res);
  }

  /** True while both have the application's prototypes. */
  holds(req: Request, res: Response): boolean {
    return this.#isOwn(req) && this.#answers(res);
  }

  /** Compares prototypes first, which is faster. The settings show prototypes that somebody has derived from the application's. */
  #isOwn(req: Request): boolean {
    const prototype: unknown = Object.getPrototypeOf(req);
    return prototype === this.#request || req[kRequestSettings] === (this.#request as Request)[kRequestSettings];
  }

  #answers(res: Response): boolean {
    const prototype: unknown = Object.getPrototypeOf(res);
    return prototype === this.#response || res[kResponseSettings] === (this.#response as Response)[kResponseSettings];
  }

  #put(req: Request, res: Response): void {
    if (isHttp2(req) || isOfNodesHttp2(req)) return this.http2.adopt(req, res);
    const isCopy = isPlain(req);
    Object.setPrototypeOf(req, !isCopy && hasOwnWays(req, IncomingMessage.prototype, READS) ? layered(req, this.#request, IncomingMessage.prototype, READS) : this.#request);
    // The bytes of its body go to the request that it is a copy of.
    if (isCopy) (req as Partial<BodyStream>)[kCaptured] ??= 'consumed';
    // Read before anything else. A request made by the program may lack it.
    if (!Array.isArray(req.rawHeaders)) defineHidden(req, 'rawHeaders', []);
    if (typeof req.headers !== 'object' || req.headers === null) defineHidden(req, 'headers', {});
    Object.setPrototypeOf(res, hasOwnWays(res, ServerResponse.prototype, WRITES) ? layered(res, this.#response, ServerResponse.prototype, WRITES) : this.#response);
  }
}

/**
 * True for a prototype of another framework's responses. That framework, when around the application, gets it back; in connect,
 * and behind an application that has had its turn, late logging and sending still find the methods, as in Express.
 */
function isOfFramework(prototype: object): boolean {
  return typeof (prototype as { readonly send?: unknown }).send === 'function' && !(prototype instanceof Response);
}

/** True for a request of Node's HTTP/2 that no application has adopted. The version in the first line of HTTP/1 tells nothing: Node takes `GET / HTTP/2.0` there. */
export function isOfNodesHttp2(req: IncomingMessage): boolean {
  return req.httpVersionMajor === 2 && !(req instanceof IncomingMessage);
}

/** True for a request of Node's HTTP/2 that applications can take. */
export function takesHttp2(req: IncomingMessage): boolean {
  return http2().hasKnownMethod(req as never);
}

/**
 * Has a response lead to a request that it has not come with: adapters of others make responses without one, and a program may have
 * made another request. When it has finished Node looks for the one it came with, and from 26.12 on ends the process where there is none.
 */
export function replaceRequest(req: Request, res: Response): void {
  const given = res as unknown as { req: Request | undefined; [kRequestReplaced]?: true };
  const { req: received } = given;
  given.req = req;
  if (received === undefined || given[kRequestReplaced] === true) return;
  given[kRequestReplaced] = true;
  res.prependOnceListener('finish', () => {
    given.req = received;
  });
}

/**
 * Gives a request and its response the own properties of Express, before any handler runs. Programs
 * pick, spread and look for them. The order is constant, so that V8 makes one shape.
 */
export function giveOwnProperties(req: Request, res: Response): void {
  giveOwnTarget(req);
  res.locals ??= Object.create(null) as Record<string, unknown>;
}

/** Gives the properties that tell where a request goes; protocol switches have them too. */
export function giveOwnTarget(req: Request): void {
  const { baseUrl } = req;
  req.originalUrl ||= req.url;
  req.baseUrl = baseUrl;
  req.params ??= {};
}

/** `req.body` where there is none, as behind a parser of Express. For each application that parses: one that has the request before may not. */
export function giveOwnBody(req: Request): void {
  if (!('body' in req)) (req as Request).body = undefined;
}

/** Has a request of HTTP/2 outlive the prototype that another framework's application puts on it; returns what is to be called when that is gone. */
export function holdHttp2(req: IncomingMessage, res: ServerResponse): (() => void) | undefined {
  return isHttp2(req) ? http2().giveOwnMembers(req, res) : undefined;
}

/** True for a plain object such as `{ ...req }`: its properties fit the methods of Node's class. */
function isPlain(message: object): boolean {
  const prototype = Object.getPrototypeOf(message) as object | null;
  return prototype === Object.prototype || prototype === null;
}

/** True for a message whose class reads or writes otherwise than Node's: a test's without a socket, such as light-my-request's. */
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
