import type { Request } from '../http/request';
import type { Response } from '../http/response';
import { kAnswering } from '../http/response-state';
import { type HandlerEvent, tracing } from '../tracing/tracing';
import type { Layer } from './layer';

/** One call of a handler, from its start to its end; what subscribers of both are given. */
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

  /** @internal What it has come to: it still runs, or it has returned, or what it returned has resolved. */
  get state(): 'running' | 'returned' | 'resolved' {
    return this.#state;
  }

  /** @internal What it has returned, or resolved with. */
  get value(): unknown {
    return this.#value;
  }

  /** @internal */
  came(state: 'returned' | 'resolved', value: unknown): void {
    this.#state = state;
    this.#value = value;
  }

  /** @internal Whether the request waits for it alone. */
  get hasRequest(): boolean {
    return !this.#hasLeft && !isAnswered(this.response);
  }

  /** @internal It has gone on, or the request has ended. */
  leave(error: unknown): void {
    this.#hasLeft = true;
    this.end(error);
  }

  /** @internal Tells subscribers, once. */
  end(error?: unknown): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.error = error;
    if (tracing.handlerEnd.hasSubscribers) tracing.handlerEnd.publish(this);
  }

  /** In words: what it is, where it stands, and where it was registered. */
  toString(): string {
    const { method } = this.#layer;
    const at = this.kind === 'route handler' ? `${method?.toUpperCase() ?? 'ALL'} ${this.path}` : this.path;
    const site = this.place;
    return `${this.kind} ${this.name} of ${at}${site === undefined ? '' : ` (${site})`}`;
  }
}

/** Whether an answer has begun, or nobody can tell: timers ask, where a throw would end the process. */
export function isAnswered(response: Response): boolean {
  try {
    return response.headersSent || response.writableEnded || response[kAnswering];
  } catch {
    return true;
  }
}
