import type { Hidden, TargetView } from './target-view';

/** What a walk says of itself to those around it, beside it and within it. */
export interface NestedWalk<W> {
  readonly view: TargetView;
  /** The walk that this one is a part of. */
  readonly parent: W | undefined;
  /** The walk that began before this one. */
  readonly before: W | undefined;
  /** How many walks of its request began before it. */
  readonly serial: number;
  /** Whether it has come to its end. */
  readonly isOver: boolean;
  /** Whether it has called anything. */
  readonly hasCalled: boolean;
}

/** A walk that was left running, and what it may not show of its path where another began. */
export interface Beside<W> {
  readonly walk: W;
  readonly hidden: readonly Hidden[];
}

/** The walk around one that begins at a base: the last to have begun may have been left running elsewhere, by a framework that stands between. */
export function enclosingAt<W extends NestedWalk<W>>(last: W | undefined, base: string): W | undefined {
  for (let walk = last; walk !== undefined; walk = walk.parent) if (walk.view.encloses(base)) return walk;
  // The program has set req.baseUrl by itself.
  return last;
}

/** The last walk to have begun that has not ended. */
export function underWay<W extends NestedWalk<W>>(last: W | undefined): W | undefined {
  let walk = last;
  while (walk?.isOver === true) walk = walk.before;
  return walk;
}

/** Walks that were left running, by whose handlers one that begins may have been called by hand; null for none. */
export function besidesOf<W extends NestedWalk<W>>(begun: W): readonly Beside<W>[] | null {
  const found: Beside<W>[] = [];
  const { base, url } = begun.view;
  let { parent: around } = begun;
  for (let walk = begun.before; walk !== undefined; walk = walk.before) {
    // Those around have begun in their order too, so one look at each does, however deep a client has them nested.
    while (around !== undefined && around.serial > walk.serial) around = around.parent;
    // One that has called nothing has not called this one.
    if (walk === around || walk.isOver || !walk.hasCalled || !walk.view.mayLeadTo(base, url)) continue;
    found.push({ walk, hidden: walk.view.hiddenAt(base, url) });
  }
  return found.length === 0 ? null : found;
}
