import { type Channel, channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Fields of every event of a request. */
export interface RequestEvent {
  /** The request. */
  readonly request: IncomingMessage;
  /** Its response. */
  readonly response: ServerResponse;
}

/** `waypost:request:route`: a route has been reached. */
export interface RouteEvent extends RequestEvent {
  /** The method of the route; `ALL` for every method. */
  readonly method: string;
  /** The pattern, from the outermost application on: mount paths are part of it. */
  readonly route: string;
}

/** `waypost:handler:start` and `waypost:handler:end`: both publish the same object. */
export interface HandlerEvent extends RequestEvent {
  /** The function's name; `<anonymous>` where it has none. */
  readonly name: string;
  /** Kind of its registration. */
  readonly kind: 'middleware' | 'error middleware' | 'route handler';
  /** The pattern of its registration, from the outermost application on. */
  readonly path: string;
  /** File, line and column of its registration; undefined where unknown. Worked out when read. */
  readonly place: string | undefined;
  /** Error that it threw, rejected with or passed to `next`; undefined for none yet. */
  readonly error: unknown;
}

/** `waypost:request:error`: a handler, or something before it, has raised an error. */
export interface FailureEvent extends RequestEvent {
  /** The error that was raised. */
  readonly error: unknown;
  /** The pattern of the route that was reached last; undefined where there was none. */
  readonly route: string | undefined;
}

/** `waypost:request:body`: a body has been parsed. */
export interface BodyEvent extends RequestEvent {
  /** Length as received, in bytes. */
  readonly bytes: number;
}

/** `waypost:request:refused`: a signature was refused, or could not be checked. */
export interface RefusalEvent {
  /** The request. */
  readonly request: IncomingMessage;
  /** Its response; undefined for a request to switch protocols. */
  readonly response: ServerResponse | undefined;
  /** Status code of the answer. */
  readonly status: number;
  /** Reason of the refusal, for the program alone; no client sees it. */
  readonly reason: string;
}

/** `waypost:request:end`: the response has been sent, or its connection has closed. */
export interface EndEvent extends RequestEvent {
  /** The pattern of the route that was reached last; undefined where there was none. */
  readonly route: string | undefined;
  /** True when the connection closed before the response was whole. */
  readonly aborted: boolean;
}

/** The events by which tracers follow a request; docs/tracing.md says when each comes. */
export const tracing = Object.freeze({
  start: channel('waypost:request:start'),
  route: channel('waypost:request:route'),
  handlerStart: channel('waypost:handler:start'),
  handlerEnd: channel('waypost:handler:end'),
  error: channel('waypost:request:error'),
  body: channel('waypost:request:body'),
  refused: channel('waypost:request:refused'),
  end: channel('waypost:request:end'),
}) satisfies Readonly<Record<string, Channel>>;

/** Returns true while requests have subscribers. It is asked once a request: later subscribers get the next. */
export function isTraced(): boolean {
  return tracing.start.hasSubscribers || tracing.route.hasSubscribers || tracing.handlerStart.hasSubscribers || tracing.handlerEnd.hasSubscribers
    || tracing.error.hasSubscribers || tracing.body.hasSubscribers || tracing.end.hasSubscribers;
}
