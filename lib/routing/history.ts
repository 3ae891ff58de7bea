import type { Layer } from './layer';
import type { Level, Mount, Place } from './mount';

/** What has run and what was left in one walk, kept where the place it has reached no longer tells. */
export class History {
  /** Orders of the layers that have run. */
  readonly #ran: Set<number>;
  /** Routes and mounts that were left: by next('route') and next('router'), or by a `next` from around them. */
  #routes: Set<Place> | null = null;
  #mounts: Mount[] | null = null;
  /** The order below which routes have been passed: no new target leads back up to one, past what guarded it from the first. */
  #passed = 0;

  constructor(ran: Set<number>) {
    this.#ran = ran;
  }

  add(layer: Layer): void {
    this.#ran.add(layer.order);
  }

  leave({ mount, place }: Level): void {
    if (place === null) this.leaveMount(mount);
    else this.leaveRoute(place);
  }

  leaveRoute(place: Place): void {
    (this.#routes ??= new Set()).add(place);
  }

  leaveMount(mount: Mount): void {
    (this.#mounts ??= []).push(mount);
  }

  passRoutesAbove(order: number): void {
    if (order > this.#passed) this.#passed = order;
  }

  /** Whether the routes at that order have been passed. */
  hasPassed(order: number): boolean {
    return order < this.#passed;
  }

  /** Whether the layer does not run, or not again. */
  skips({ order, place }: Layer): boolean {
    if (this.#ran.has(order)) return true;
    if (place !== null && (this.hasPassed(order) || this.#routes?.has(place) === true)) return true;
    return this.#mounts !== null && this.#mounts.some((mount) => mount.start <= order && order < mount.end);
  }
}
