import type { Request } from '../http/request';
import { pathOf } from '../target';
import { enclosingAt } from './nesting';
import { mountedIn } from './stack';
import { baseOf, targetBehind, type TargetView } from './target-view';
import type { Walk } from './walk';

/** A target that stands for one of a walk within, or of one that it may have called by hand. */
interface Around {
  readonly walk: Walk;
  readonly target: string;
}

/**
 * Targets that are asked about at most, beside one for each walk around. Each application that is called by hand with a shorter URL, and the
 * base left as it was, doubles what the target may stand for around it, and a program that calls itself so lets the client say how often.
 */
const MOST_TARGETS = 100;

/**
 * Has those check a walk's target that it has come out of: the walks that may
 * have called it by hand, and then those around it, innermost first, each what
 * the target may stand for there. Calls back when none has anything against it.
 */
export function checkAround(walk: Walk, method: string, url: string, admitted: () => void): void {
  if (!walk.isBeneathCheck) return admitted();
  const all = targetsAround(walk, method, url);
  if (all === null) return walk.refuse(new Error(`req.url may stand for more than ${MOST_TARGETS} targets: where an application is called by hand with a part of it taken off, add that to req.baseUrl`));
  new Question(all, method, admitted).ask();
}

/** Asks one after another, without a deeper stack for each. */
class Question {
  readonly #all: readonly Around[];
  readonly #method: string;
  readonly #admitted: () => void;
  #index = 0;
  #isAsking = false;

  constructor(all: readonly Around[], method: string, admitted: () => void) {
    this.#all = all;
    this.#method = method;
    this.#admitted = admitted;
  }

  ask(): void {
    if (this.#isAsking) return;
    this.#isAsking = true;
    let asked = -1;
    // Whoever has nothing against it calls back at once, mostly.
    while (asked < this.#index && this.#index < this.#all.length) {
      asked = this.#index;
      const { walk, target } = this.#all[asked] as Around;
      walk.host.retargeted(walk, this.#method, target, () => {
        this.#index++;
        this.ask();
      });
    }
    this.#isAsking = false;
    if (this.#index === this.#all.length) this.#admitted();
  }
}

/** Null where there are too many to be asked about. */
function targetsAround(begun: Walk, method: string, url: string): Around[] | null {
  const all: Around[] = [];
  let targets = [url];
  let more = 0;
  for (let walk = begun; targets.length > 0; ) {
    for (const { walk: left, hidden } of walk.besides ?? []) {
      for (const each of hidden) all.push(...targets.map((target) => ({ walk: left, target: targetBehind(each, target) })));
    }
    const { parent, view } = walk;
    if (parent === undefined) break;
    // What it has been admitted with, those around it have been asked about.
    targets = aroundOf(targets, view).filter((target) => parent.held || target !== parent.url || method !== parent.method);
    all.push(...targets.map((target) => ({ walk: parent, target })));
    more += Math.max(targets.length - 1, 0);
    if (more > MOST_TARGETS) return null;
    walk = parent;
  }
  return all;
}

function aroundOf(targets: readonly string[], view: TargetView): string[] {
  return [...new Set(targets.flatMap((target) => view.targetsAround(target)))];
}

/**
 * Whether what leads to a walk may have changed the target without a word to the walk around: by `next`, while that is
 * held, or by a prefix that a mount of another framework strips again, so that the text shown last is there once more.
 */
export function isLedAstray({ besides, isBeneathCheck, parent, view }: Walk): boolean {
  if (!isBeneathCheck) return false;
  return besides !== null || (parent !== undefined && (parent.held || parent.isRewritten || view.targetsAround(view.url).some((target) => target !== parent.url)));
}

/**
 * Whether a guard in the walks around may be passed by what is mounted there
 * and takes another target than they have seen: something above it applies to
 * that target alone, or routes by itself, or stands between the two.
 */
export function mayLeadPast(last: Walk | undefined, mounted: unknown, req: Request, url: string): boolean {
  const base = baseOf(req);
  let walk = enclosingAt(last, base);
  if (walk === undefined) return false;
  if (walk.reached === null || mountedIn(walk.reached.handler) !== mounted) return true;
  let targets = walk.view.hiddenAt(base, req.url).map((hidden) => targetBehind(hidden, url));
  for (; walk !== undefined; walk = walk.parent) {
    for (const target of targets) if (hasGuard(walk, target)) return true;
    targets = aroundOf(targets, walk.view);
    if (targets.length > MOST_TARGETS) return true;
  }
  return false;
}

function hasGuard({ table, match, method, reached }: Walk, target: string): boolean {
  const other = table.match(method, pathOf(target));
  return other.plan.steps.some((step) => {
    const { mark, catches, routes } = step.layer;
    if (catches || reached === null || mark.order >= reached.mark.order || !table.applies(step, other)) return false;
    return routes || table.alternative(step.layer, match) === undefined;
  });
}
