import { noteParserCallback } from '../exposure';
import type { Layer } from './layer';
import { type Mount, type Place, within } from './mount';
import { meetsRoute } from './sibling';

/** An error on its way down the list, and which error middleware it meets. */
export class Failure {
  readonly error: unknown;
  /** The place of the route that raised it: only there do the route's own error handlers count. */
  readonly raiser: Place | null;
  /** The mount that it comes from. */
  readonly source: Mount | null;
  /** Whether nothing raised it: then `source` is the mount of the route that could not run. */
  readonly unraised: boolean;

  constructor(error: unknown, raiser: Place | null, source: Mount | null, unraised: boolean) {
    this.error = error;
    this.raiser = raiser;
    this.source = source;
    this.unraised = unraised;
    noteParserCallback(error);
  }

  /**
   * Whether it reaches the layer. As in Express, a route's own error handlers
   * see only what was raised in the route, and nothing lets an error into a
   * router from outside; one that nothing raised is met in every router but
   * siblings of the one it stopped.
   */
  meets(layer: Layer): boolean {
    if (!layer.catches || (layer.place !== null && layer.place !== this.raiser)) return false;
    if (this.source === null) return true;
    return this.unraised ? meetsRoute(layer.mount, this.source) : within(this.source, layer.mount);
  }
}

/** Whether `next` was given an error: as in Express, only a truthy value is one, and no word to leave a route or router. */
export function isError(given: unknown): boolean {
  return Boolean(given) && given !== 'route' && given !== 'router';
}
