import { AsyncLocalStorage } from 'node:async_hooks';
import { read } from '../errors';
import type { Request } from '../http/request';
import { type ErrorWatch, kWatch } from '../http/request-state';
import type { Response } from '../http/response';
import { type RpcMetadata, rpcMetadata } from '../open-telemetry';
import { isTraced, tracing } from '../tracing';
import { isError } from './failure';
import { HandlerTrace, isAnswered } from './handler-trace';
import type { Layer } from './layer';
import type { Place } from './mount';
import type { Match } from './plan';
import type { RouteTable } from './route-table';
import { baseOf } from './target-view';

type WatchedRequest = Request & { [kWatch]?: RequestWatch };

/** Who wants to be told of requests that are not answered. */
export interface Watchman {
  /** Whether it may answer in the place of a handler, which is then done in that one's async context. */
  readonly mayAnswer: boolean;
  /** Called when a request comes that no other application has. Returns a timer that ends with the request, or when the application has passed that on. */
  begun(watch: RequestWatch): NodeJS.Timeout | undefined;
  /** Called before the first function of the program's is that is to answer a request. As `begun`. */
  called(watch: RequestWatch): NodeJS.Timeout | undefined;
  /** Called when a handler has returned, or what it returned has resolved, with neither an answer nor a call of `next`. */
  returned(run: HandlerTrace): void;
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
  readonly #runs: HandlerTrace[] = [];
  readonly #rpc: RpcMetadata | undefined;
  #isClosed = false;
  /** Runs a function in the async context of the handler that was called last. */
  #inContext: ((act: () => void) => void) | null = null;
  #error: unknown = undefined;

  private constructor(request: Request, response: Response) {
    this.request = request;
    this.response = response;
    this.#rpc = rpcMetadata();
    response.once('close', () => this.#closed());
    if (tracing.start.hasSubscribers) tracing.start.publish({ request, response });
  }

  /** The watch over a request; begins with it. Null where nobody would hear of its end. */
  static of(request: WatchedRequest, response: Response, watchman: Watchman | null): RequestWatch | null {
    // What is called by hand, as in tests without a server, may be given what emits no events.
    if (typeof response.once !== 'function') return null;
    const watch = (request[kWatch] ??= new RequestWatch(request, response));
    if (watchman !== null) watch.#post(watchman)?.timers.push(watchman.begun(watch));
    return watch;
  }

  /** The same where somebody has subscribed to events, or the http instrumentation of OpenTelemetry waits for the route; else null. @param isInstrumented Whether it may. */
  static ifTraced(request: Request, response: Response, isInstrumented: boolean): RequestWatch | null {
    return isTraced() || (isInstrumented && rpcMetadata() !== undefined) ? RequestWatch.of(request, response, null) : null;
  }

  /** The one over a request, where there is one. */
  static over(request: WatchedRequest): RequestWatch | undefined {
    return request[kWatch];
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
    return this.#runs.at(-1);
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

  /** Calls a handler, in the async contexts that subscribers have bound to its start. */
  call(run: HandlerTrace, layer: Layer, given: readonly unknown[]): unknown {
    this.begins();
    if (this.#posts.some(({ watchman }) => watchman.mayAnswer)) this.#inContext = AsyncLocalStorage.snapshot();
    this.#runs.push(run);
    return tracing.handlerStart.runStores(run, layer.handler as (...given: unknown[]) => unknown, undefined, ...given);
  }

  /** Takes note of what a handler has come to, unless it has gone on meanwhile. */
  returned(run: HandlerTrace): void {
    if (!this.#runs.includes(run)) return;
    if (run.state === 'resolved' || this.isAnswered) run.end();
    if (!this.isAnswered) this.#posts[0]?.watchman.returned(run);
  }

  /** A handler has gone on, or failed. */
  left(run: HandlerTrace, error: unknown): void {
    const at = this.#runs.lastIndexOf(run);
    if (at !== -1) this.#runs.splice(at, 1);
    run.leave(error);
  }

  routed(method: string, route: string): void {
    const { request, response } = this;
    this.route = route;
    if (this.#rpc !== undefined) this.#rpc.route = route;
    if (tracing.route.hasSubscribers) tracing.route.publish({ request, response, method, route });
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
    for (const post of this.#posts) this.#dismiss(post);
    for (const run of this.#runs.splice(0)) run.leave(undefined);
    const { request, response, route } = this;
    if (tracing.end.hasSubscribers) tracing.end.publish({ request, response, route, aborted: read(response, 'writableFinished') !== true });
  }
}

/** What of a walk its watch looks at. */
interface Watched {
  readonly req: Request;
  readonly table: RouteTable;
  readonly match: Match;
  readonly parent: { readonly watch: WalkWatch | null } | undefined;
}

/** The part of it that concerns one walk. */
export class WalkWatch {
  readonly request: RequestWatch;
  readonly #walk: Watched;
  /** The path that the application or router is mounted at. */
  readonly #base: string;
  #run: HandlerTrace | null = null;
  #place: Place | null = null;

  constructor(request: RequestWatch, walk: Watched) {
    this.request = request;
    this.#walk = walk;
    this.#base = walk.parent?.watch?.path ?? baseOf(walk.req);
  }

  /** The pattern of what runs in the walk. */
  get path(): string | undefined {
    return this.#run?.path;
  }

  /** A route has been reached: not yet its handlers, where an error stands in its way. */
  routed(layer: Layer): void {
    if (layer.place === this.#place) return;
    this.#place = layer.place;
    this.request.routed(layer.method ?? 'ALL', this.#pathOf(layer));
  }

  /** Calls a handler; what comes of it is what the handler returned, or a promise of the same. */
  call(layer: Layer, given: readonly unknown[]): unknown {
    const { request } = this;
    const run = (this.#run = new HandlerTrace(request.request, request.response, layer, this.#pathOf(layer)));
    const result = request.call(run, layer, given);
    if (typeof result !== 'object' || result === null || result === request.response) {
      run.came('returned', result);
      request.returned(run);
      return result;
    }
    // Here, and never again: a query that runs when it is waited for would run twice.
    const settled = Promise.resolve(result);
    settled.then((value) => {
      run.came(value === result ? 'returned' : 'resolved', value);
      request.returned(run);
    }, () => undefined);
    return settled;
  }

  /** What runs has called `next`. */
  left(error: unknown): void {
    const run = this.#run;
    const raised = isError(error) ? error : undefined;
    if (raised !== undefined) this.request.failed(raised);
    if (run === null) return;
    this.#run = null;
    this.request.left(run, raised);
  }

  /** A layer has thrown. */
  threw(error: unknown, layer: Layer): void {
    this.request.failed(error);
    const run = this.#run;
    if (run?.layer !== layer) return;
    this.#run = null;
    this.request.left(run, error);
  }

  #pathOf(layer: Layer): string {
    const { table, match } = this.#walk;
    const [first] = layer.patterns;
    const { text = '/' } = (layer.patterns.length === 1 ? first : table.alternative(layer, match) ?? first) ?? {};
    const base = this.#base;
    if (base === '' || base === '/') return text;
    return text === '/' ? base : base + text;
  }
}
