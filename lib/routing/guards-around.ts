import type { Request } from '../http/request';
import { pathOf } from '../target';
import { enclosingAt } from './nesting';
import { baseOf, targetBehind, type TargetView } from './target-view';
import type { Walk } from './walk';

/** A target that stands for one of a walk within, or of one that it may have called by hand. */
interface Around {
  readonly walk: Walk;
  readonly target: string;
}

/**
 * Has those check a walk's target that it has come out of: the walks that may
 * have called it by hand, and then those around it, innermost first, each what
 * the target may stand for there. Calls back when none has anything against it.
 */
export function checkAround(walk: Walk, method: string, url: string, admitted: () => void): void {
  askNext(targetsAround(walk, url), 0, method, admitted);
}

function askNext(all: readonly Around[], index: number, method: string, admitted: () => void): void {
  const next = all[index];
  if (next === undefined) return admitted();
  next.walk.host.retargeted(next.walk, method, next.target, () => askNext(all, index + 1, method, admitted));
}

function targetsAround(begun: Walk, url: string): Around[] {
  const all: Around[] = [];
  let targets = [url];
  for (let walk = begun; ; ) {
    for (const { walk: left, hidden } of walk.besides ?? []) {
      for (const each of hidden) all.push(...targets.map((target) => ({ walk: left, target: targetBehind(each, target) })));
    }
    const { parent, view } = walk;
    if (parent === undefined) return all;
    targets = aroundOf(targets, view);
    all.push(...targets.map((target) => ({ walk: parent, target })));
    walk = parent;
  }
}

function aroundOf(targets: readonly string[], view: TargetView): string[] {
  return [...new Set(targets.flatMap((target) => view.targetsAround(target)))];
}

/**
 * Whether what leads to a walk may have changed the target without a word to the walk around: by `next`, while that is
 * held, or by a prefix that a mount of another framework strips again, so that the text shown last is there once more.
 */
export function isLedAstray({ besides, parent, view }: Walk): boolean {
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
  if (walk.reached?.handler !== mounted) return true;
  let targets = walk.view.hiddenAt(base, req.url).map((hidden) => targetBehind(hidden, url));
  for (; walk !== undefined; walk = walk.parent) {
    for (const target of targets) if (hasGuard(walk, target)) return true;
    targets = aroundOf(targets, walk.view);
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
