import type { Layer } from './layer';
import { type Mount, within } from './mount';
import type { Path } from './path';
import { prefixEndOf } from './pattern';

/**
 * What `req.baseUrl` is to be once a program has assigned it. As in Express it stays until something with a path
 * is called, or a router is left: then it is that of the router around, as that was when it was entered.
 */
export class GivenBase {
  /** What it is to be for what is called. */
  current: string;
  /** What the program has taken off the URL and added to it; undefined for nothing. */
  cut: string | undefined = undefined;
  readonly #base: string;
  /** What it was where a router was entered, as far as that follows from what was assigned. */
  readonly #entries = new Map<Mount, string>();
  /** How much of the path was hidden from what has rewritten the request, until something else is called. */
  #hidden: number | null = null;
  /** The router that holds both what was called last and what is called now, and what it is to be there. */
  #common: Mount | null = null;
  #start: string;
  #final: string;

  /** @param base `req.baseUrl` on entry of the application. */
  constructor(base: string) {
    this.#base = this.current = this.#start = this.#final = base;
  }

  /** What was called last has made another target, from which as much of the path is not hidden any more. */
  leaveHidden(length: number): void {
    this.#hidden = length;
  }

  /**
   * Works out what it is to be for a layer.
   * @param given What it is. @param left The layer that was called last; null for none. @param hidden How much of the path was hidden from that.
   */
  follow(given: string, left: Layer | null, hidden: number, layer: Layer, cut: Path, path: string): void {
    const length = this.#hidden ?? hidden;
    this.#hidden = null;
    const way = wayTo(layer.mount);
    const outermost = way[way.length - 1] as Mount;
    const common = (left === null ? undefined : way.find((mount) => within(left.mount, mount))) ?? outermost;
    let base = left === null ? given : this.#leave(given, left, length, common, cut, path);
    this.#common = common;
    this.#start = base;
    for (const mount of way.slice(0, way.indexOf(common)).reverse()) {
      const around = mount.parent as Mount;
      const own = path.slice(endOf(around, cut), endOf(mount, cut));
      if (own !== '') base = this.#entry(around, cut, path) + own;
      this.#entries.set(mount, base);
    }
    if (layer.place === null) {
      const own = path.slice(endOf(layer.mount, cut), endOf(layer, cut));
      if (own !== '') base = this.#entry(layer.mount, cut, path) + own;
    }
    this.current = this.#final = base;
  }

  /** For handlers of a parameter in the path of a layer of the mount, or of a router that is mounted there. */
  showAt(mount: Mount, cut: Path, path: string): void {
    this.current = mount === this.#common ? this.#start : this.#entry(mount, cut, path);
  }

  /** For the layer, when these have gone on. */
  showLayer(): void {
    this.current = this.#final;
  }

  #leave(given: string, left: Layer, hidden: number, common: Mount, cut: Path, path: string): string {
    if (left.mount === common) return left.place === null && hidden > endOf(common, cut) ? this.#entry(common, cut, path) : given;
    let mount = left.mount;
    while (mount.parent !== null && mount.parent !== common) mount = mount.parent;
    return this.#entry(endOf(mount, cut) > endOf(common, cut) ? common : mount, cut, path);
  }

  #entry(mount: Mount, cut: Path, path: string): string {
    return this.#entries.get(mount) ?? this.#base + path.slice(0, endOf(mount, cut));
  }
}

/** A mount and those around it, innermost first. */
function wayTo(inner: Mount): Mount[] {
  const way: Mount[] = [];
  for (let mount: Mount | null = inner; mount !== null; mount = mount.parent) way.push(mount);
  return way;
}

/** Where in the path what a layer or a mount takes of it ends. */
function endOf({ patterns }: Layer | Mount, cut: Path): number {
  return prefixEndOf(patterns, cut);
}
