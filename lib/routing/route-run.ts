import type { Request } from '../http/request';
import { kBody } from '../http/body/request-body';
import { isOfSignal } from '../http/request-state';
import type { Response } from '../http/response';
import { admit } from './admission';
import { callHandler, MAX_SYNC_CALLS } from './call';
import type { AnyHandler, NextFunction } from './handler';
import type { Layer } from './layer';
import { type ApplicationRoot, type Caller, kRun, type RemovedPrefix, type RoutedRequest } from './caller';
import type { Route } from './route';
import type { HandlerTrace } from './handler-trace';
import { type Contracted, kContract } from '../schema/contracted';
import { setImmediate } from '../timers';

/** Names of body-parser's middleware: it reads the bytes of a body that waypost could not parse. */
const BODY_PARSERS: ReadonlySet<string> = new Set(['jsonParser', 'urlencodedParser', 'textParser', 'rawParser']);

/** One call of a route's `dispatch`: it runs the handlers of one method, in order. */
export class RouteRun {
  readonly next: NextFunction;
  readonly #stack: readonly Layer[];
  readonly #method: string;
  readonly #req: Request;
  readonly #res: Response;
  readonly #done: NextFunction;
  /** The run of the router that dispatched; undefined outside of any. */
  readonly #run: Caller | undefined;
  /** The prefix removed before the program dispatched the route by hand; undefined where the router did. */
  readonly #removed: RemovedPrefix | null | undefined;
  #trace: HandlerTrace | null = null;
  #isBodyReady = false;
  #index = 0;
  #syncCalls = 0;

  constructor(stack: readonly Layer[], method: string, req: Request, res: Response, done: NextFunction) {
    this.#stack = stack;
    this.#method = method;
    this.#req = req;
    this.#res = res;
    this.#done = done;
    const run = (req as RoutedRequest)[kRun];
    this.#run = run;
    this.#removed = run === undefined || (done === run.next && req.baseUrl === run.shownBase) ? undefined : run.enteredBy(req, req.baseUrl);
    this.next = RouteRun.#next.bind(undefined, this);
  }

  static #next(this: void, run: RouteRun, error?: unknown): void {
    run.#advance(error);
  }

  #advance(error: unknown): void {
    const root = this.#run?.root;
    if (root != null && (root.isStopped || root.admission.isPending)) return root.drop(error);
    if (this.#trace !== null) {
      this.#run?.watch?.left(this.#trace, error);
      this.#trace = null;
    }
    if (error && isOfSignal(this.#req, error)) return;
    if (error === 'route') return this.#finish(undefined);
    if (error === 'router') return this.#finish(error);
    if (++this.#syncCalls > MAX_SYNC_CALLS) {
      setImmediate(this.next, error);
      return;
    }
    const stack = this.#stack;
    while (this.#index < stack.length) {
      const layer = stack[this.#index++] as Layer;
      if (layer.method !== undefined && layer.method !== this.#method) continue;
      if (!layer.isFor(error || undefined)) continue;
      this.#reach(layer, error);
      this.#syncCalls = 0;
      return;
    }
    this.#finish(error);
  }

  /** Goes on behind the route; where the program has dispatched it by hand, by its function. */
  #finish(error: unknown): void {
    const run = this.#run;
    if (run?.root?.isChecked === true && this.#done !== run.next) this.#askBehind(run, error);
    else this.#done(error);
  }

  #askBehind(run: Caller, error: unknown): void {
    admit(run, () => this.#done(error), this.#removed);
  }

  /** Parses the body before the first handler that may read it. */
  #reach(layer: Layer, error: unknown): void {
    const root = this.#run?.root;
    if (this.#isBodyReady || root == null || !root.hasBody || error || this.#leavesBody(layer.handle)) return this.#admit(layer, error);
    this.#prepareBody(layer, root);
  }

  /** True for a parser, and for options that say nothing of the body. Before it is in, their timeout may not begin. */
  #leavesBody({ name, [kContract]: contract }: AnyHandler & Contracted): boolean {
    return BODY_PARSERS.has(name) || (contract !== undefined && !contract.body && contract.bodyLimit === undefined && this.#req[kBody] !== undefined);
  }

  #prepareBody(layer: Layer, root: ApplicationRoot): void {
    this.#isBodyReady = true;
    const contract = (this.#req.route as Route).contractFor(this.#method);
    if (contract?.body === false) return this.#admit(layer, undefined);
    root.prepareBody(contract, (failure) => {
      if (root.isStopped) return;
      if (failure === undefined) this.#admit(layer, undefined);
      else this.next(failure);
    });
  }

  #admit(layer: Layer, error: unknown): void {
    const run = this.#run;
    if (run?.root?.isChecked !== true) this.#call(layer, error);
    else this.#ask(run, layer, error);
  }

  #ask(run: Caller, layer: Layer, error: unknown): void {
    admit(run, () => this.#call(layer, error), this.#removed);
  }

  #call(layer: Layer, error: unknown): void {
    const { handle } = layer;
    const run = this.#run;
    if (run?.watch == null) return callHandler(handle, error, this.#req, this.#res, this.next);
    this.#trace = run.watch.begin(layer, error ? 'error middleware' : 'route handler', run.route);
    run.watch.call(this.#trace, handle, error, this.#req, this.#res, this.next);
  }
}
