import { AsyncLocalStorage } from 'node:async_hooks';
import { read } from '../errors';
import { forgetFirstAnswer } from '../http/first-answer';
import type { Request } from '../http/request';
import { type ErrorWatch, watches } from '../http/request-state';
import type { Response } from '../http/response';
import { type RpcMetadata, rpcMetadata } from '../tracing/open-telemetry';
import { isTraced, tracing } from '../tracing/tracing';
import { asError, callHandler, followResult } from './call';
import type { AnyHandler, ErrorHandler, Handler, NextFunction } from './handler';
import { HandlerTrace, isAnswered } from './handler-trace';
import type { Layer } from './layer';
import type { Route } from './route';

/** Who wants to be told of requests that are not answered. */
export interface Watchman {
  /** Whether it may answer in the place of a handler, which is then done in that one's async context. */
  readonly mayAnswer: boolean;
  /** Called when a request comes that no other application has. Returns a timer that ends with the request, or when the application has passed that on. */
  begun(watch: RequestWatch): NodeJS.Timeout | undefined;
  /** Called before the first function of the program's is that is to answer a request. As `begun`. */
  called(watch: RequestWatch): NodeJS.Timeout | undefined;
  /** Called when a handler has failed. */
  failed(trace: HandlerTrace, error: unknown): void;
  /** Called when a handler has returned, or what it returned has resolved, with neither an answer nor a call of `next`. */
  returned(trace: HandlerTrace): void;
}

/** One application that has a request. */
interface Post {
  readonly watchman: Watchman;
  readonly timers: (NodeJS.Timeout | undefined)[];
  hasCalled: boolean;
  /** How often it has the request: it may have called itself. */
  times: number;
}

/**
 * Follows one request: who has it, and what subscribers of the events in
 * docs/tracing.md are to hear. Made only where somebody wants to know.
 */
export class RequestWatch implements ErrorWatch {
  readonly request: Request;
  readonly response: Response;
  /** The pattern of the route that was reached last. */
  route: string | undefined = undefined;
  /** Of several applications, the innermost last. */
  #posts: Post[] = [];
  /** The handlers that have the request, of several the last within the others. */
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

  /** The watch over a request; begins with it. Null where nobody would hear of its end. */
  static of(request: Request, response: Response, watchman: Watchman | null): RequestWatch | null {
    // What is called by hand, as in tests without a server, may be given what emits no events.
    if (typeof response.once !== 'function') return null;
    const watch = RequestWatch.over(request) ?? new RequestWatch(request, response);
    if (watchman !== null) watch.#post(watchman)?.timers.push(watchman.begun(watch));
    return watch;
  }

  /** The same where somebody has subscribed to events, or the http instrumentation of OpenTelemetry waits for the route; else null. @param isInstrumented Whether it may. */
  static ifTraced(request: Request, response: Response, isInstrumented: boolean): RequestWatch | null {
    return isTraced() || (isInstrumented && rpcMetadata() !== undefined) ? RequestWatch.of(request, response, null) : null;
  }

  /** The one over a request, where there is one. */
  static over(request: Request): RequestWatch | undefined {
    return watches.get(request) as RequestWatch | undefined;
  }

  /** Another application has the request, within one that watches it: its own limit counts too. */
  limitBy(watchman: Watchman): void {
    if (watchman.mayAnswer) this.#post(watchman);
  }

  /** An application has passed the request on: from there it is no longer its own. */
  leave(watchman: Watchman): void {
    const post = this.#posts.find((each) => each.watchman === watchman);
    if (post === undefined) return;
    post.times -= 1;
    if (post.times === 0) this.#dismiss(post);
  }

  #dismiss(post: Post): void {
    for (const timer of post.timers) clearTimeout(timer);
    this.#posts = this.#posts.filter((each) => each !== post);
  }

  /** Undefined where it is there, or the request has gone. */
  #post(watchman: Watchman): Post | undefined {
    if (this.#isClosed) return undefined;
    const known = this.#posts.find((each) => each.watchman === watchman);
    if (known !== undefined) {
      known.times += 1;
      return undefined;
    }
    const post: Post = { watchman, timers: [], hasCalled: false, times: 1 };
    this.#posts.push(post);
    return post;
  }

  /** The handler that has the request. */
  get holder(): HandlerTrace | undefined {
    return this.#traces.at(-1);
  }

  /** Whether an answer has begun. */
  get isAnswered(): boolean {
    return isAnswered(this.response);
  }

  /** Something of the program's is about to be called. */
  begins(): void {
    for (const post of this.#posts) {
      if (post.hasCalled) continue;
      post.hasCalled = true;
      post.timers.push(post.watchman.called(this));
    }
  }

  /** Acts in the place of the handler that has the request. */
  standIn(act: () => void): void {
    if (this.#inContext === null) act();
    else this.#inContext(act);
  }

  /** Begins the call of a handler. */
  begin(layer: Layer, kind: HandlerTrace['kind'], path: string): HandlerTrace {
    this.begins();
    if (this.#posts.some(({ watchman }) => watchman.mayAnswer)) this.#inContext = AsyncLocalStorage.snapshot();
    const trace = new HandlerTrace(this.request, this.response, layer, kind, path);
    this.#traces.push(trace);
    return trace;
  }

  /** Calls the handler, in the async contexts that subscribers have bound to its start. @param error Falsy for none. */
  call(trace: HandlerTrace, handle: AnyHandler, error: unknown, req: Request, res: Response, next: NextFunction): void {
    const run = (...given: unknown[]): unknown => {
      const result: unknown = (handle as (...all: unknown[]) => unknown)(...given);
      if (typeof result === 'object' && result !== null && result !== res) {
        // Here, and never again: a query that runs when it is waited for would run twice.
        const settled = Promise.resolve(result);
        settled.then((value) => this.#came(trace, value === result ? 'returned' : 'resolved', value), () => undefined);
        followResult(settled, next);
      } else {
        this.#came(trace, 'returned', result);
      }
      return undefined;
    };
    const traced = error
      ? ((failure, request, response, goOn) => tracing.handlerStart.runStores(trace, run, undefined, failure, request, response, goOn)) as ErrorHandler
      : ((request, response, goOn) => tracing.handlerStart.runStores(trace, run, undefined, request, response, goOn)) as Handler;
    callHandler(traced, error, req, res, next);
  }

  #came(trace: HandlerTrace, state: 'returned' | 'resolved', value: unknown): void {
    trace.came(state, value);
    this.#returned(trace);
  }

  /** Takes note of what a handler has come to, unless it has gone on meanwhile. */
  #returned(trace: HandlerTrace): void {
    if (!this.#traces.includes(trace)) return;
    if (trace.state === 'resolved' || this.isAnswered) trace.end();
    if (!this.isAnswered) this.#posts[0]?.watchman.returned(trace);
  }

  /** A handler has gone on, or failed. */
  left(trace: HandlerTrace, error: unknown): void {
    const failure = asError(error);
    if (failure !== undefined) {
      this.#posts[0]?.watchman.failed(trace, failure);
      this.failed(failure);
    }
    const at = this.#traces.lastIndexOf(trace);
    if (at !== -1) this.#traces.splice(at, 1);
    trace.leave(failure);
  }

  /** A route has been reached. */
  routed(matched: Route, method: string, route: string): void {
    const { request, response } = this;
    this.route = route;
    if (this.#rpc !== undefined) this.#rpc.route = route;
    if (tracing.route.hasSubscribers) tracing.route.publish({ request, response, method: methodOf(matched, method), route });
  }

  /** An error has been raised. What error middleware passes on is told once. */
  failed(error: unknown): void {
    if (error === this.#error) return;
    this.#error = error;
    const { request, response, route } = this;
    if (tracing.error.hasSubscribers) tracing.error.publish({ request, response, error, route });
  }

  #closed(): void {
    // What begins from here on answers nobody.
    this.#isClosed = true;
    forgetFirstAnswer(this.response);
    for (const post of this.#posts) this.#dismiss(post);
    for (const trace of this.#traces.splice(0)) trace.leave(undefined);
    const { request, response, route } = this;
    if (tracing.end.hasSubscribers) tracing.end.publish({ request, response, route, aborted: read(response, 'writableFinished') !== true });
  }
}

/** The method of a route's handlers that takes a request: GET where that stands for HEAD, ALL for those of every method. */
function methodOf({ methods }: Route, method: string): string {
  if (methods[method.toLowerCase()] === true) return method;
  return method === 'HEAD' && methods['get'] === true ? 'GET' : 'ALL';
}
