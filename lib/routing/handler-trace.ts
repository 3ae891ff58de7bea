import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { kAnswering } from '../http/response-state';
import { type HandlerEvent, tracing } from '../tracing/tracing';
import type { Layer } from './layer';

/** One call of a handler, published at its start and its end. */
export class HandlerTrace implements HandlerEvent {
  readonly request: Request;
  readonly response: Response;
  readonly name: string;
  readonly kind: HandlerEvent['kind'];
  readonly path: string;
  error: unknown = undefined;
  readonly #layer: Layer;
  #state: 'running' | 'returned' | 'resolved' = 'running';
  #value: unknown = undefined;
  #isOver = false;
  #hasLeft = false;

  constructor(request: Request, response: Response, layer: Layer, kind: HandlerEvent['kind'], path: string) {
    this.request = request;
    this.response = response;
    this.name = layer.handle.name || '<anonymous>';
    this.kind = kind;
    this.path = path;
    this.#layer = layer;
  }

  get place(): string | undefined {
    return this.#layer.site.place;
  }

  /** @internal Resolved when the promise that it returned has resolved. */
  get state(): 'running' | 'returned' | 'resolved' {
    return this.#state;
  }

  /** @internal The value that it returned, or resolved with. */
  get value(): unknown {
    return this.#value;
  }

  /** @internal True for a function that may go on by `next`: what it returns is not sent. */
  get takesNext(): boolean {
    return this.#layer.arity > 2;
  }

  /** @internal */
  settle(state: 'returned' | 'resolved', value: unknown): void {
    this.#state = state;
    this.#value = value;
  }

  /** @internal True while the request waits for it alone. */
  get hasRequest(): boolean {
    return !this.#hasLeft && !isAnswered(this.response);
  }

  /** @internal Ends when the handler has gone on, or the request has ended. */
  leave(error: unknown): void {
    this.#hasLeft = true;
    this.end(error);
  }

  /** @internal Publishes the end, once. */
  end(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.error = error;
    if (tracing.handlerEnd.hasSubscribers) tracing.handlerEnd.publish(this);
  }

  /** Describes its kind, its name, its path and its registration. */
  toString(): string {
    const { method } = this.#layer;
    const at = this.kind === 'route handler' ? `${method?.toUpperCase() ?? 'ALL'} ${this.path}` : this.path;
    const site = this.place;
    return `${this.kind} ${this.name} of ${at}${site === undefined ? '' : ` (${site})`}`;
  }
}

/** Returns true once an answer has begun. */
export function isAnswered(response: Response): boolean {
  return response.headersSent || response.writableEnded || response[kAnswering];
}
