import { type Channel, channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';

/** What every event of a request tells. */
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

/** `waypost:handler:start` and `waypost:handler:end`: the same object for both. */
export interface HandlerEvent extends RequestEvent {
  /** The function's name; `<anonymous>` where it has none. */
  readonly name: string;
  /** What it is registered as. */
  readonly kind: 'middleware' | 'error middleware' | 'route handler';
  /** The pattern that it is registered at, from the outermost application on. */
  readonly path: string;
  /** File, line and column of its registration; undefined where that is not known. Worked out when it is read. */
  readonly place: string | undefined;
  /** What it has thrown, rejected with or given to `next`; undefined where nothing, or not yet. */
  readonly error: unknown;
}

/** `waypost:request:error`: a handler has raised an error, or something else that stood in its way. */
export interface FailureEvent extends RequestEvent {
  /** What was raised. */
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
  /** Undefined of a request to switch protocols. */
  readonly response: ServerResponse | undefined;
  /** What the client is answered. */
  readonly status: number;
  /** Why, in words for the program's own eyes. */
  readonly reason: string;
}

/** `waypost:request:end`: the response has been sent, or its connection has closed. */
export interface EndEvent extends RequestEvent {
  /** The pattern of the route that was reached last; undefined where there was none. */
  readonly route: string | undefined;
  /** Whether the connection closed before the response was whole. */
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

/** Whether anybody follows requests on their way. Asked once for each: what is subscribed later counts from the next on. */
export function isTraced(): boolean {
  return tracing.start.hasSubscribers || tracing.route.hasSubscribers || tracing.handlerStart.hasSubscribers || tracing.handlerEnd.hasSubscribers
    || tracing.error.hasSubscribers || tracing.body.hasSubscribers || tracing.end.hasSubscribers;
}
