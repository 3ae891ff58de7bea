/** What a drill came to: each as `name: figure`, in the order of the table. */
export type Figures = Readonly<Record<string, string | number>>;

/** How much of a drill is run: all of it from the command line, a fraction of a second's worth by `npm test`. */
export type Extent = 'whole' | 'short';

/** A drill: what is done to a server, and what must hold of it then. */
export interface Drill {
  readonly name: string;
  /** What is done, as the table has it. */
  readonly load: string;
  /** What it is given when all are run; alone it is given what stands behind its name. */
  readonly amongAll?: readonly string[];
  /** @throws Error that says what did not hold. */
  run(extent: Extent, given: readonly string[]): Promise<Figures>;
}

/** @throws Error with the message when that does not hold. */
export function hold(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

export function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 2 ** 20).toLocaleString('en')} MiB`;
}

/** Runs so many at once, each as soon as the one before it has come to its end. */
export async function crowd(count: number, member: (index: number) => Promise<unknown>): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => member(index)));
}
