import { bindContext } from '../async-context';
import { forgetFirstAnswer } from '../http/first-answer';
import type { Request } from '../http/request';
import { type ErrorWatch, isOfSignal, watches } from '../http/request-state';
import type { Response } from '../http/response';
import { type RpcMetadata, rpcMetadata } from '../tracing/open-telemetry';
import { isTraced, tracing } from '../tracing/tracing';
import { asError, callHandler, followResult } from './call';
import type { AnyHandler, ErrorHandler, Handler, NextFunction } from './handler';
import { HandlerTrace, isAnswered } from './handler-trace';
import type { Layer } from './layer';
import type { Route } from './route';

/** Listener for requests that are not answered. */
export interface Watchman {
  /** True if it may answer instead of a handler, in the handler's async context. */
  readonly mayAnswer: boolean;
  /** Called for a request that no other application has. Returns a timer that ends when the request closes or leaves the application. */
  begun(watch: RequestWatch): NodeJS.Timeout | undefined;
  /** Called before the first function of the program. Returns a timer as `begun` does. */
  called(watch: RequestWatch): NodeJS.Timeout | undefined;
  /** Called when a handler has failed. */
  failed(trace: HandlerTrace, error: unknown): void;
  /** Called when a handler has returned, or its promise has resolved, without answer or `next`. */
  returned(trace: HandlerTrace): void;
}

/** One application that has a request. */
interface Entry {
  readonly watchman: Watchman;
  readonly timers: (NodeJS.Timeout | undefined)[];
  /** The timer that began before the first function of the program. */
  limit: NodeJS.Timeout | undefined;
  hasCalled: boolean;
  /** Number of its entries with the request: it may call itself. */
  times: number;
}

/**
 * Follows one request through applications and handlers, and publishes the
 * events of docs/tracing.md. Made only where something listens.
 */
export class RequestWatch implements ErrorWatch {
  readonly request: Request;
  readonly response: Response;
  /** The pattern of the route that was reached last. */
  route: string | undefined = undefined;
  /** Applications that have the request, the innermost last. */
  #entries: Entry[] = [];
  /** Handlers that have the request, the innermost last. */
  readonly #traces: HandlerTrace[] = [];
  readonly #rpc: RpcMetadata | undefined;
  #isClosed = false;
  /** Runs a function in the async context of the handler that was called last. */
  #inContext: ((act: () => void) => void) | null = null;
  #error: unknown = undefined;

  private constructor(request: Request, response: Response) {
    this.request = request;
    this.response = response;
    this.#rpc = rpcMetadata();
    watches.set(request, this);
    response.once('close', () => this.#closed());
    if (tracing.start.hasSubscribers) tracing.start.publish({ request, response });
  }

  /** The watch over a request, created once. Null for a response that emits no events. */
  static of(request: Request, response: Response, watchman: Watchman | null): RequestWatch | null {
    // Tests without a server may call a router with plain objects.
    if (typeof response.once !== 'function') return null;
    const watch = RequestWatch.over(request) ?? new RequestWatch(request, response);
    if (watchman !== null) watch.#enter(watchman)?.timers.push(watchman.begun(watch));
    return watch;
  }

  /** The watch where events have subscribers, or OpenTelemetry's http instrumentation waits for the route; else null. @param isInstrumented True where it may wait. */
  static ifTraced(request: Request, response: Response, isInstrumented: boolean): RequestWatch | null {
    return isTraced() || (isInstrumented && rpcMetadata() !== undefined) ? RequestWatch.of(request, response, null) : null;
  }

  /** The watch over a request, if any. */
  static over(request: Request): RequestWatch | undefined {
    return watches.get(request) as RequestWatch | undefined;
  }

  /** Adds an application within another that has the request: its own limit counts too. */
  limitBy(watchman: Watchman | null): void {
    if (watchman?.mayAnswer === true) this.#enter(watchman);
  }

  /** Removes an application that has passed the request on. */
  leave(watchman: Watchman | null): void {
    const entry = this.#entries.find((each) => each.watchman === watchman);
    if (entry === undefined) return;
    entry.times -= 1;
    if (entry.times === 0) this.#remove(entry);
  }

  #remove(entry: Entry): void {
    for (const timer of [...entry.timers, entry.limit]) clearTimeout(timer);
    this.#entries = this.#entries.filter((each) => each !== entry);
  }

  /** Adds an application; undefined for a known one, or a closed request. */
  #enter(watchman: Watchman): Entry | undefined {
    if (this.#isClosed) return undefined;
    const known = this.#entries.find((each) => each.watchman === watchman);
    if (known !== undefined) {
      known.times += 1;
      return undefined;
    }
    const entry: Entry = { watchman, timers: [], limit: undefined, hasCalled: false, times: 1 };
    this.#entries.push(entry);
    return entry;
  }

  /** The handler that has the request. */
  get holder(): HandlerTrace | undefined {
    return this.#traces.at(-1);
  }

  /** True once an answer has begun. */
  get isAnswered(): boolean {
    return isAnswered(this.response);
  }

  /** Starts the applications' timers before a function of the program is called. */
  beforeCall(): void {
    for (const entry of this.#entries) {
      if (entry.hasCalled) continue;
      entry.hasCalled = true;
      entry.limit = entry.watchman.called(this);
    }
  }

  /** Ends the applications' limits: the route has one of its own. */
  endLimits(): void {
    for (const entry of this.#entries) clearTimeout(entry.limit);
  }

  /** Acts in the async context of the handler that has the request. */
  runInHandlerContext(act: () => void): void {
    if (this.#inContext === null) act();
    else this.#inContext(act);
  }

  /** Begins the call of a handler. */
  begin(layer: Layer, kind: HandlerTrace['kind'], path: string): HandlerTrace {
    this.beforeCall();
    if (this.#entries.some(({ watchman }) => watchman.mayAnswer)) this.#inContext = bindContext((act: () => void) => act(), 'waypost.watch');
    const trace = new HandlerTrace(this.request, this.response, layer, kind, path);
    this.#traces.push(trace);
    return trace;
  }

  /** Calls the handler in the async contexts that subscribers have bound to its start. @param error Falsy for none. */
  call(trace: HandlerTrace, handle: AnyHandler, error: unknown, req: Request, res: Response, next: NextFunction): void {
    const run = (...given: unknown[]): unknown => {
      const result: unknown = (handle as (...all: unknown[]) => unknown)(...given);
      if (typeof result === 'object' && result !== null && result !== res) {
        // Resolved once: a lazy query runs at each `then`.
        const settled = Promise.resolve(result);
        settled.then((value) => this.#settled(trace, value === result ? 'returned' : 'resolved', value), () => undefined);
        followResult(settled, next, handle.length < 3 ? res : null);
      } else {
        this.#settled(trace, 'returned', result);
      }
      return undefined;
    };
    const traced = error
      ? ((failure, request, response, goOn) => tracing.handlerStart.runStores(trace, run, undefined, failure, request, response, goOn)) as ErrorHandler
      : ((request, response, goOn) => tracing.handlerStart.runStores(trace, run, undefined, request, response, goOn)) as Handler;
    callHandler(traced, error, req, res, next);
  }

  #settled(trace: HandlerTrace, state: 'returned' | 'resolved', value: unknown): void {
    trace.settle(state, value);
    this.#returned(trace);
  }

  /** Handles the return of a handler, unless it has gone on meanwhile. */
  #returned(trace: HandlerTrace): void {
    if (!this.#traces.includes(trace)) return;
    if (trace.state === 'resolved' || this.isAnswered) trace.end();
    if (!this.isAnswered) this.#entries[0]?.watchman.returned(trace);
  }

  /** Ends the trace of a handler that has gone on, or failed. */
  left(trace: HandlerTrace, error: unknown): void {
    const failure = asError(error);
    if (failure !== undefined && !isOfSignal(this.request, failure)) {
      this.#entries[0]?.watchman.failed(trace, failure);
      this.failed(failure);
    }
    const at = this.#traces.lastIndexOf(trace);
    if (at !== -1) this.#traces.splice(at, 1);
    trace.leave(failure);
  }

  /** Publishes that a route has been reached. */
  routed(matched: Route, method: string, route: string): void {
    const { request, response } = this;
    this.route = route;
    if (this.#rpc !== undefined) this.#rpc.route = route;
    if (tracing.route.hasSubscribers) tracing.route.publish({ request, response, method: methodOf(matched, method), route });
  }

  /** Publishes an error, once: error middleware may pass it on. */
  failed(error: unknown): void {
    if (error === this.#error) return;
    this.#error = error;
    const { request, response, route } = this;
    if (tracing.error.hasSubscribers) tracing.error.publish({ request, response, error, route });
  }

  #closed(): void {
    // Handlers that begin from here on answer nobody.
    this.#isClosed = true;
    forgetFirstAnswer(this.response);
    for (const entry of this.#entries) this.#remove(entry);
    for (const trace of this.#traces.splice(0)) trace.leave(undefined);
    const { request, response, route } = this;
    if (tracing.end.hasSubscribers) tracing.end.publish({ request, response, route, aborted: !response.writableFinished });
  }
}

/** The method of a route that takes a request: GET for HEAD without handlers, ALL for every method. */
function methodOf({ methods }: Route, method: string): string {
  if (methods[method.toLowerCase()] === true) return method;
  return method === 'HEAD' && methods['get'] === true ? 'GET' : 'ALL';
}
