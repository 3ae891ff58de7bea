import { AsyncResource } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { read } from '../errors';
import { loggedRequest } from '../http/logged-request';
import type { Request } from '../http/request';
import type { Response } from '../http/response';
import type { LineLevel } from '../logger';
import { matchedRoute } from '../routing/matched-route';
import type { SafeLog } from '../safe-log';

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
    new AccessLine(this.#logger, this.#level, req, res).listen();
  }
}

/** The line of one request. */
class AccessLine {
  readonly #logger: SafeLog;
  readonly #level: LineLevel;
  readonly #req: Request;
  readonly #res: Response;
  readonly #begun = performance.now();
  readonly #scope = new AsyncResource('waypost.accessLine');
  /** Null while the response waits behind another in a pipeline. */
  #socket: Socket | null = null;
  /** Bytes that the connection had sent before this response. */
  #before = 0;

  constructor(logger: SafeLog, level: LineLevel, req: Request, res: Response) {
    this.#logger = logger;
    this.#level = level;
    this.#req = req;
    this.#res = res;
  }

  listen(): void {
    const res = this.#res;
    const finished = res.socket === null ? this.#writeAtHome : this.#write;
    if (res.socket === null) res.once('socket', (socket: Socket) => this.#connect(socket));
    else this.#connect(res.socket);
    // Before Node's own listener, which gives the connection to the next response.
    res.prependOnceListener('finish', finished);
    res.once('close', this.#writeAtHome);
  }

  #connect(socket: Socket): void {
    this.#socket = socket;
    this.#before = socket.bytesWritten;
  }

  /** In the async context in which the application was called: what has waited behind another response ends in that one's, what is aborted in none. */
  readonly #writeAtHome = (): void => this.#scope.runInAsyncScope(this.#write);

  readonly #write = (): void => {
    const [req, res] = [this.#req, this.#res];
    res.removeListener('finish', this.#write);
    res.removeListener('finish', this.#writeAtHome);
    res.removeListener('close', this.#writeAtHome);
    const aborted = read(res, 'writableFinished') !== true;
    const route = matchedRoute(req);
    const bytes = this.#socket === null ? 0 : this.#socket.bytesWritten - this.#before;
    this.#logger[this.#level]({
      ...loggedRequest(req),
      ...(route !== undefined && { route }),
      ...(read(res, 'headersSent') === true && { status: read(res, 'statusCode') }),
      ms: Math.round((performance.now() - this.#begun) * 1000) / 1000,
      ...(Number.isFinite(bytes) && { bytes }),
    }, aborted ? 'Request aborted' : 'Request completed');
  };
}
