import type { IncomingMessage, ServerResponse } from 'node:http';
import { Chunks } from './chunks';
import { type FailureReport, messageOf, sendFailure, stackOf } from './serialization-failure';
import { checkXJsonOptions, copyXJsonOptions, mergeXJsonOptions, type XJsonOptions } from '../xjson/options';
import { isBodiless } from './own-answer';
import { kAnswering } from './response-state';
import { late } from '../packages';
import { workInSlices } from './turns';
import { unsendable } from './unsendable';

const
  serializing = late(() => require('../xjson/serializer') as typeof import('../xjson/serializer')),
  streaming = late(() => require('./xjson-stream') as typeof import('./xjson-stream'));

/** Options of a response's `xJson`, given by middleware. */
export const kXJsonOptions = Symbol('waypost.xJsonOptions');

/** Middleware for Node's own request and response, and for what extends them. */
export type XJsonMiddleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;

/** Response as the middleware extends it. */
interface XJsonResponse extends ServerResponse {
  [kXJsonOptions]?: XJsonOptions | undefined;
  [kAnswering]?: boolean;
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
    this.#options = copyXJsonOptions(options);
  }

  /**
   * Answers with any data as JSON. The options of the call go before the
   * handler's. Data that fails to serialize is answered with 500.
   * @throws TypeError for a wrong option.
   */
  send(res: ServerResponse, data: unknown, options?: XJsonOptions): void {
    sendXJson(res, data, options, this.#options, STANDALONE);
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
    const given: XJsonOptions = Object.freeze(copyXJsonOptions(options));
    return function xJson(_req, res: XJsonResponse, next) {
      res[kXJsonOptions] = mergeXJsonOptions(res[kXJsonOptions], given);
      res.xJson ??= plainXJson;
      next();
    };
  }
}

function plainXJson(this: XJsonResponse, data: unknown, options?: XJsonOptions): void {
  sendXJson(this, data, options, this[kXJsonOptions], STANDALONE);
}

/** Without a framework around it, a failure is a process warning. */
const STANDALONE: FailureReport = {
  get development() {
    return process.env['NODE_ENV'] === 'development';
  },
  onError(error) {
    const detail = stackOf(error);
    process.emitWarning(`xJson could not answer: ${messageOf(error)}`, detail === undefined ? {} : { detail });
  },
};

/**
 * Answers with any data as JSON (INTERFACE section 4.3). The work is done in
 * slices: small data is sent before this returns, large data keeps no other
 * request waiting. Nothing is sent before all is serialized, so that a failure
 * is a clean 500, and data that changes meanwhile harms no length.
 * @param given Options of the call, not checked yet.
 * @param base Options that they go before.
 * @throws TypeError for a wrong option; nothing for the data.
 */
export function sendXJson(
  res: ServerResponse,
  data: unknown,
  given: XJsonOptions | undefined,
  base: XJsonOptions | undefined,
  report: FailureReport,
): void {
  const options = mergeXJsonOptions(base, given === undefined ? undefined : checkXJsonOptions(given));
  if (res.headersSent) {
    sendFailure(res, new Error('xJson cannot answer: a response has been sent already'), report);
    return;
  }
  const unfit = unsendable(data, 'xJson', !('stream' in res));
  if (unfit !== undefined) {
    sendFailure(res, unfit, report);
    return;
  }
  (res as XJsonResponse)[kAnswering] = true;
  const chunks = new Chunks(!isBodiless(res));
  const serializer = new (serializing().Serializer)(data, options, chunks);
  workInSlices((until) => {
    try {
      if (res.headersSent) throw new Error('xJson cannot answer: another response was sent while the data was serialized');
      if (!res.destroyed) {
        if (!serializer.run(until)) return false;
        streaming().sendJson(res, serializer.text ?? chunks, options, (error) => sendFailure(res, error, report));
      }
    } catch (error) {
      sendFailure(res, error, report);
    }
    return true;
  });
}
