/**
 * Objects that are told of something, and not kept for it: a router that a request has made for itself, to mount a shared one in or
 * to put the layers of one in, goes with the request.
 */
export class WeakList<T extends object> {
  readonly #known = new WeakMap<T, WeakRef<T>>();
  readonly #all = new Set<WeakRef<T>>();
  readonly #gone = new FinalizationRegistry<WeakRef<T>>((held) => this.#all.delete(held));

  add(object: T): void {
    if (this.#known.has(object)) return;
    const held = new WeakRef(object);
    this.#known.set(object, held);
    this.#all.add(held);
    this.#gone.register(object, held);
  }

  *[Symbol.iterator](): IterableIterator<T> {
    for (const held of this.#all) {
      const object = held.deref();
      if (object !== undefined) yield object;
    }
  }
}
