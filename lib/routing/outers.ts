/**
 * The routers that one is mounted in. It does not keep them: one that a request has made for itself, to mount a shared one in, goes
 * with the request.
 */
export class Outers<Router extends object> {
  readonly #known = new WeakMap<Router, WeakRef<Router>>();
  readonly #all = new Set<WeakRef<Router>>();
  readonly #gone = new FinalizationRegistry<WeakRef<Router>>((outer) => this.#all.delete(outer));

  add(outer: Router): void {
    if (this.#known.has(outer)) return;
    const held = new WeakRef(outer);
    this.#known.set(outer, held);
    this.#all.add(held);
    this.#gone.register(outer, held);
  }

  *[Symbol.iterator](): IterableIterator<Router> {
    for (const held of this.#all) {
      const outer = held.deref();
      if (outer !== undefined) yield outer;
    }
  }
}
