import type { IncomingMessage, ServerResponse } from 'node:http';
import { checkXJsonOptions, mergeXJsonOptions, type XJsonOptions } from '../xjson/options';
import { late } from '../packages';

const serializing = late(() => require('../xjson/serializer') as typeof import('../xjson/serializer'));
/** @internal */
export const streaming = late(() => require('./xjson-stream') as typeof import('./xjson-stream'));

/** Options of a response's `xJson`, given by middleware. */
export const kXJsonOptions = Symbol('waypost.xJsonOptions');

/** Middleware for Node's own request and response, and for what extends them. */
export type XJsonMiddleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

/** Response as the middleware extends it. */
interface XJsonResponse extends ServerResponse {
  [kXJsonOptions]?: XJsonOptions | undefined;
  xJson?: (data: unknown, options?: XJsonOptions) => void;
}

/** Extended JSON responses with options of one's own (INTERFACE section 2.4), for any `node:http` response. */
export class XJsonResponseHandler {
  readonly #options: XJsonOptions;

  /**
   * @param options Options of every response this handler sends.
   * @throws TypeError for a wrong option.
   */
  constructor(options: XJsonOptions = {}) {
    // Copied by name: they may be inherited, or getters.
    this.#options = mergeXJsonOptions({}, checkXJsonOptions(options));
  }

  /**
   * Answers with any data as JSON. The options of the call go before the
   * handler's. Data that fails to serialize is answered with 500.
   * @throws TypeError for a wrong option.
   */
  send(res: ServerResponse, data: unknown, options?: XJsonOptions): void {
    streaming().sendXJson(res, data, options, this.#options);
  }

  /** The JSON text that `send` would answer with; see `stringify` of xjson/serializer.ts for what it throws. */
  static stringify(data: unknown, options?: XJsonOptions): string {
    return serializing().stringify(data, options);
  }

  /**
   * Makes middleware that gives `res.xJson` its options; on a plain `node:http`
   * response it adds the method too. Where several apply, the later one's
   * options go before the earlier one's.
   * @throws TypeError for a wrong option.
   */
  static createMiddleware(options: XJsonOptions = {}): XJsonMiddleware {
    const given: XJsonOptions = Object.freeze(mergeXJsonOptions({}, checkXJsonOptions(options)));
    return function xJson(_req, res: XJsonResponse, next) {
      res[kXJsonOptions] = mergeXJsonOptions(res[kXJsonOptions], given);
      res.xJson ??= plainXJson;
      next();
    };
  }
}

function plainXJson(this: XJsonResponse, data: unknown, options?: XJsonOptions): void {
  streaming().sendXJson(this, data, options, this[kXJsonOptions]);
}
