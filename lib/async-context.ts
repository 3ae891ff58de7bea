import { AsyncResource } from 'node:async_hooks';

/**
 * Binds a function to the async context of now, as `AsyncResource.bind` does. On Node 20 to 24 what a function of that one
 * holds outlives every collection of the young generation.
 *
 * @param type Kind of the resource, of which async hooks are told.
 */
export function bindContext<A extends unknown[], R>(run: (...given: A) => R, type: string): (...given: A) => R {
  const scope = new AsyncResource(type);
  return (...given) => scope.runInAsyncScope(run, undefined, ...given);
}
