import { pathOf } from '../target';
import { enclosingAt } from './nesting';
import { targetBehind } from './target-view';
import type { Walk } from './walk';

/**
 * Has those check a walk's target that it has come out of: the walks that may
 * have called it by hand, and then those around it, innermost first, each what
 * the target stands for there. Calls back when none has anything against it.
 */
export function checkAround(walk: Walk, method: string, url: string, admitted: () => void, asked = 0): void {
  const beside = walk.besides?.[asked];
  if (beside !== undefined) {
    const { walk: left, hidden } = beside;
    left.host.retargeted(left, method, targetBehind(hidden, url), () => checkAround(walk, method, url, admitted, asked + 1));
    return;
  }
  const around = walk.parent;
  if (around === undefined) return admitted();
  const target = walk.view.targetAround(url);
  around.host.retargeted(around, method, target, () => checkAround(around, method, target, admitted));
}

/**
 * Whether what leads to a walk may have changed the target without a word to the walk around: by `next`, while that is
 * held, or by a prefix that a mount of another framework strips again, so that the text shown last is there once more.
 */
export function isLedAstray({ besides, parent, view }: Walk): boolean {
  return besides !== null || (parent !== undefined && (parent.held || parent.isRewritten || view.targetAround(view.url) !== parent.url));
}

/**
 * Whether a guard in the walks around may be passed by what is mounted there
 * and takes another target than they have seen: something above it applies to
 * that target alone, or routes by itself, or stands between the two.
 */
export function mayLeadPast(last: Walk | undefined, mounted: unknown, base: string, url: string): boolean {
  let walk = enclosingAt(last, base);
  if (walk === undefined) return false;
  if (walk.reached?.handler !== mounted) return true;
  for (let target = targetBehind(walk.view.hiddenAt(base), url); walk !== undefined; walk = walk.parent) {
    if (hasGuard(walk, target)) return true;
    target = walk.view.targetAround(target);
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
