/**
 * A set of what comes and goes by the thousand, such as connections: each has a slot of one array. When V8 enlarges the table of a Set,
 * the former table keeps what it held from being collected until the next full collection, which took a sixth of a request's time over HTTP/2.
 */
export class Slots<T extends object> implements Iterable<T> {
  /** Slot of an item, kept on it. */
  readonly #key = Symbol('waypost.slot');
  readonly #slots: (T | undefined)[] = [];
  readonly #free: number[] = [];

  add(item: T): void {
    if (this.has(item)) return;
    const slot = this.#free.pop() ?? this.#slots.length;
    this.#slots[slot] = item;
    (item as Record<symbol, number>)[this.#key] = slot;
  }

  has(item: T): boolean {
    return this.#slots[(item as Record<symbol, number>)[this.#key] ?? -1] === item;
  }

  /** Deletes an item; one that is not there is left alone. */
  delete(item: T): void {
    if (!this.has(item)) return;
    const slot = (item as Record<symbol, number>)[this.#key] as number;
    this.#slots[slot] = undefined;
    this.#free.push(slot);
  }

  * [Symbol.iterator](): Generator<T> {
    for (const item of this.#slots) if (item !== undefined) yield item;
  }
}
