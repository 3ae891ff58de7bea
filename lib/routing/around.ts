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

/** Whether what leads to a walk may have changed the target without a word to the walk around: by `next`, or while that is held. */
export function isLedAstray({ besides, parent }: Walk): boolean {
  return besides !== null || (parent !== undefined && (parent.held || parent.isRewritten));
}
