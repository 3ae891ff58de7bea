import { Http2ServerRequest, Http2ServerResponse, type ServerHttp2Stream } from 'node:http2';
import { kSession, type Members, OF_REQUESTS, REQUEST } from './http2-request';
import { fieldsIn, given, givenStream, type Http2Response, kOpen, OF_RESPONSES, RESPONSE, type Written } from './http2-response';
import { Slots } from './slots';

export { hasKnownMethod } from './http2-request';

/** The classes of an application's requests and responses of HTTP/2: Node's two, with all that the application's others have. */
export class Http2Classes {
  readonly Request: typeof Http2ServerRequest;
  readonly Response: typeof Http2ServerResponse;
  /** The responses that their servers have made, while they are open. */
  readonly open = new Slots<Written>();

  /** @param request Prototype of the application's requests. @param response Of its responses. */
  constructor(request: object, response: object) {
    const { open } = this;
    this.Request = class extends Http2ServerRequest {
      readonly [kSession] = this.stream.session;
    };
    this.Response = class extends Http2ServerResponse {
      constructor(stream: ServerHttp2Stream) {
        super(stream);
        open.add(this as unknown as Written);
        if (this.req.method === 'HEAD') stream.once('close', () => closeHead(this));
      }
    } as typeof Http2ServerResponse;
    layer(this.Request.prototype, REQUEST, OF_REQUESTS);
    layer(this.Response.prototype, RESPONSE, OF_RESPONSES);
    Object.defineProperty(this.Response.prototype, kOpen, { value: open, configurable: true });
    Object.setPrototypeOf(this.Request.prototype, request);
    Object.setPrototypeOf(this.Response.prototype, response);
  }

  /** Makes request and response the application's own, with the fields that were set before. */
  adopt(req: object, res: object): void {
    const fields = res instanceof Http2ServerResponse ? given.getHeaders.call(res) : undefined;
    if (req instanceof Http2ServerRequest && !(kSession in req)) Object.defineProperty(req, kSession, { value: req.stream.session });
    Object.setPrototypeOf(req, this.Request.prototype);
    Object.setPrototypeOf(res, this.Response.prototype);
    if (fields !== undefined) Object.assign(fieldsIn(res as Http2Response), fields);
  }
}

/** Tells of an answer to HEAD whose stream has closed. Node tells once the program has ended it, too. */
function closeHead(res: Http2ServerResponse): void {
  if (res.headersSent) res.emit('finish');
  res.emit('close');
}

/**
 * Gives a request and its response the members of HTTP/2 as their own: an application of Express puts prototypes of HTTP/1.1 on them.
 * Returns what takes back Node's `stream` of the response, in whose place waypost has another.
 */
export function giveOwnMembers(req: object, res: object): () => void {
  Object.defineProperty(res, 'stream', givenStream);
  for (const message of [req, res]) {
    const { constructor: _, ...members }: Members = Object.getOwnPropertyDescriptors<object>(Object.getPrototypeOf(message) as object);
    for (const key of Reflect.ownKeys(members)) if (!Object.hasOwn(message, key)) Object.defineProperty(message, key, members[key as string] as PropertyDescriptor);
  }
  return () => void Reflect.deleteProperty(res, 'stream');
}

/** Gives a prototype the members, the first of a name. */
function layer(prototype: object, ...all: readonly Members[]): void {
  for (const members of all) {
    for (const key of Reflect.ownKeys(members)) {
      if (!Object.hasOwn(prototype, key)) Object.defineProperty(prototype, key, members[key] as PropertyDescriptor);
    }
  }
}
