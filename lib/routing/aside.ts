import type { Mark, Mount } from './mount';

/** Puts aside what was laid out in a mount, or elsewhere: behind what has come last into a list, in the order that it was in. */
export class Aside {
  readonly #start: number;
  readonly #base: number;
  #count = 0;

  /** @param start Where what stands in their place begins. @param length Of the list by then. */
  constructor(start: number, length: number) {
    this.#start = start;
    this.#base = length - 1;
  }

  put(marks: Iterable<Mark>): void {
    for (const mark of marks) {
      mark.order = this.#next();
      mark.aside = this.#start;
    }
  }

  putMount(mount: Mount): void {
    mount.start = this.#next();
    for (const standing of mount.standings) {
      if (standing.kind === 'route') {
        this.put(standing.entries.map(({ mark }) => mark));
        this.put(standing.wrappers.values());
      } else {
        this.put(standing.marks);
        if (standing.mount !== null) this.putMount(standing.mount);
      }
    }
    mount.end = this.#next();
  }

  /** Between two whole numbers, and never the second, however many there are. */
  #next(): number {
    this.#count++;
    return this.#base + this.#count / (this.#count + 1);
  }
}
