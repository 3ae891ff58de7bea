import { describeKind } from '../options/field';
import { fetchRequestOf } from '../http/fetch-request';
import { sendResponse } from '../http/fetch-response';
import { isFetchResponse } from '../http/unsendable';
import { isApplication } from './mounting';
import type { Handler } from '../routing/handler';

/** A function from a Request of fetch to a Response: the handler of `app.mount`. Undefined or null leaves the request to what is below. */
export type FetchFunction = (request: globalThis.Request) => globalThis.Response | Promise<globalThis.Response | null | undefined> | null | undefined;

/** A fetch handler, or anything that has one: an application of Hono or h3, for one. */
export type FetchHandler = FetchFunction | {
  /** Answers a Request. */
  fetch(request: globalThis.Request): globalThis.Response | Promise<globalThis.Response>;
};

/** Middleware that has a fetch handler answer. @throws TypeError for what is none. */
export function fetchMiddleware(given: FetchHandler): Handler {
  if (isApplication(given)) throw new TypeError('app.mount() takes a fetch handler: write app.use(path, application) for an application of waypost or Express');
  const answer = typeof given === 'function' ? given : (given as Partial<typeof given> | null | undefined)?.fetch?.bind(given);
  if (typeof answer !== 'function') throw new TypeError(`app.mount() needs a function (Request) => Response, or what has it as fetch, got ${describeKind(given)}`);
  return async function fetchHandler(req, res, next) {
    const request = fetchRequestOf(req);
    const response = request === undefined ? undefined : await answer(request);
    if (response === undefined || response === null) next();
    else if (isFetchResponse(response)) sendResponse(res, response, next);
    else throw new TypeError(`a fetch handler must return a Response, and has returned ${describeKind(response)}`);
  };
}
