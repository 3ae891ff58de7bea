import type { Layer } from './layer';
import { type Level, type Mark, markAt, type Mount, type Place } from './mount';

const TOP: Mark = markAt(0);

/** What has run and what was left in one walk, kept where the place it has reached no longer tells. */
export class History {
  /** The layers that have run. */
  readonly #ran: Set<Mark>;
  /** Routes and mounts that were left: by next('route') and next('router'), or by a `next` from around them. */
  #routes: Set<Place> | null = null;
  #mounts: Mount[] | null = null;
  /** The place above which routes have been passed: no new target leads back up to one, past what guarded it from the first. */
  #passed: Mark = TOP;

  constructor(ran: Set<Mark>) {
    this.#ran = ran;
  }

  add(layer: Layer): void {
    this.#ran.add(layer.mark);
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

  passRoutesAbove(mark: Mark): void {
    if (mark.order > this.#passed.order) this.#passed = mark;
  }

  /** Whether the routes at that place have been passed. */
  hasPassed({ order }: Mark): boolean {
    return order < this.#passed.order;
  }

  /** Whether the layer does not run, or not again. */
  skips({ mark, place }: Layer): boolean {
    if (this.#ran.has(mark)) return true;
    if (place !== null && (this.hasPassed(mark) || this.#routes?.has(place) === true)) return true;
    return this.#mounts !== null && this.#mounts.some((mount) => mount.start <= mark.order && mark.order < mount.end);
  }
}
