import { AsyncResource } from 'node:async_hooks';

/**
 * Binds a function to the async context of now, as `AsyncResource.bind` does. Node 20 to 24 keep what a function of that one holds
 * until a full collection.
 *
 * @param type Kind of the resource, of which async hooks are told.
 */
export function bindContext<A extends unknown[], R>(run: (this: void, ...given: A) => R, type: string): (...given: A) => R {
  const scope = new AsyncResource(type);
  return (...given) => scope.runInAsyncScope(run, undefined, ...given);
}
