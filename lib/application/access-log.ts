import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { read } from '../errors';
import { loggedRequest } from '../http/logged-request';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { LineLevel } from '../log/logger';
import { kRun, type RoutedRequest } from '../routing/caller';
import type { SafeLog } from '../log/safe-log';

/** Marks a response whose line will be written, so that of several applications the outermost writes it. */
const kLine = Symbol('waypost.response.accessLine');

/** Writes one line for each request, when it is over. */
export class AccessLog {
  readonly #logger: SafeLog;
  readonly #level: LineLevel;

  constructor(logger: SafeLog, level: LineLevel) {
    this.#logger = logger;
    this.#level = level;
  }

  /** Takes note that a request has begun; costs a look at the logger's level where that is not written. */
  begin(req: Request, res: Response & { [kLine]?: true }): void {
    if (!this.#logger.writes(this.#level) || res[kLine] === true || !(res instanceof EventEmitter)) return;
    res[kLine] = true;
    this.#follow(req, res);
  }

  #follow(req: Request, res: Response): void {
    const begun = performance.now();
    /** Null while the response waits behind another in a pipeline. */
    let socket: Socket | null = null;
    /** Bytes that the connection had sent before this response. */
    let before = 0;
    const connect = (given: Socket): void => {
      socket = given;
      before = given.bytesWritten;
    };
    const write = (): void => {
      // Not by what a program may have put in its place, whose throw nobody would catch here.
      EventEmitter.prototype.removeListener.call(res, 'finish', write);
      EventEmitter.prototype.removeListener.call(res, 'finish', writeAtHome);
      EventEmitter.prototype.removeListener.call(res, 'close', writeAtHome);
      this.#write(req, res, performance.now() - begun, socket === null ? 0 : socket.bytesWritten - before);
    };
    // In the async context in which the application was called: what has waited behind another response ends in that one's, what is aborted in none.
    const writeAtHome = AsyncResource.bind(write, 'waypost.accessLine');
    // None at all where a test has made the response.
    const { socket: current } = res as { socket: Socket | null | undefined };
    if (current === null) res.once('socket', connect);
    else if (current !== undefined) connect(current);
    // Before Node's own listener, which gives the connection to the next response.
    res.prependOnceListener('finish', current === null ? writeAtHome : write);
    res.once('close', writeAtHome);
  }

  #write(req: Request, res: Response, ms: number, bytes: number): void {
    const aborted = read(res, 'writableFinished') !== true;
    const route = (req as RoutedRequest)[kRun]?.root?.reached?.reachedRoute;
    this.#logger[this.#level]({
      ...loggedRequest(req),
      ...(route !== undefined && { route }),
      ...(read(res, 'headersSent') === true && { status: read(res, 'statusCode') }),
      ms: Math.round(ms * 1000) / 1000,
      ...(Number.isFinite(bytes) && { bytes }),
    }, aborted ? 'Request aborted' : 'Request completed');
  }
}
