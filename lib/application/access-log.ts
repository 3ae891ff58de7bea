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
    if (res.socket === null) res.once('socket', (socket: Socket) => this.#connect(socket));
    else this.#connect(res.socket);
    // Before Node's own listener, which gives the connection to the next response.
    res.prependOnceListener('finish', this.#write);
    res.once('close', this.#write);
  }

  #connect(socket: Socket): void {
    this.#socket = socket;
    this.#before = socket.bytesWritten;
  }

  readonly #write = (): void => {
    const [req, res] = [this.#req, this.#res];
    res.removeListener('finish', this.#write);
    res.removeListener('close', this.#write);
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
