import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { bindContext } from '../async-context';
import { loggedRequest } from '../http/logged-request';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { LineLevel } from '../log/logger';
import { kRun, type RoutedRequest } from '../routing/caller';
import type { SafeLog } from '../log/safe-log';

/** Marks a response with a pending line: of nested applications only the outermost writes one. */
const kLine = Symbol('waypost.response.accessLine');

/** Writes one log line for each finished request. */
export class AccessLog {
  readonly #logger: SafeLog;
  readonly #level: LineLevel;

  constructor(logger: SafeLog, level: LineLevel) {
    this.#logger = logger;
    this.#level = level;
  }

  /** Follows a request from its begin, unless the logger's level leaves the line out. */
  begin(req: Request, res: Response & { [kLine]?: true }): void {
    if (!this.#logger.writes(this.#level) || res[kLine] === true || !(res instanceof EventEmitter)) return;
    res[kLine] = true;
    this.#follow(req, res);
  }

  #follow(req: Request, res: Response): void {
    const startTime = performance.now();
    /** Null while the response waits behind another in a pipeline. */
    let socket: Socket | null = null;
    /** Bytes sent on the connection before this response. */
    let bytesBefore = 0;
    const connect = (given: Socket): void => {
      socket = given;
      bytesBefore = given.bytesWritten;
    };
    const write = (): void => {
      res.removeListener('finish', write).removeListener('finish', writeInContext).removeListener('close', writeInContext);
      this.#write(req, res, performance.now() - startTime, socket === null ? 0 : socket.bytesWritten - bytesBefore);
    };
    // Runs in the application's async context: a pipelined response ends in another's, an aborted one in none.
    const writeInContext = bindContext(write, 'waypost.accessLine');
    // Undefined for a response of a test.
    const { socket: current } = res as { socket: Socket | null | undefined };
    if (current === null) res.once('socket', connect);
    else if (current !== undefined) connect(current);
    // Runs before Node's own listener, which gives the connection to the next response.
    res.prependOnceListener('finish', current === null ? writeInContext : write);
    res.once('close', writeInContext);
  }

  #write(req: Request, res: Response, ms: number, bytes: number): void {
    const aborted = !res.writableFinished;
    const route = (req as RoutedRequest)[kRun]?.root?.reached?.reachedRoute;
    this.#logger[this.#level]({
      ...loggedRequest(req),
      ...(route !== undefined && { route }),
      ...(res.headersSent && { status: res.statusCode }),
      ms: Math.round(ms * 1000) / 1000,
      ...(Number.isFinite(bytes) && { bytes }),
    }, aborted ? 'Request aborted' : 'Request completed');
  }
}
