import { type Ancestors, DataWalk } from './data-walk';
import type { Rules } from './rules';
import { safeText } from './safe-text';

/**
 * The JSON text of data that a walk has seen whole.
 * @param result The copy that the walk returned.
 * @param ancestors Ancestors of data whose toJSON has been called. @default the root's: none
 */
export function jsonText(data: unknown, result: unknown, walk: DataWalk, rules: Rules, ancestors?: Ancestors): string | undefined {
  // A BigInt puts the defaults in force, and something is beyond them.
  const isCut = walk.isCut || (walk.exceedsDefaults && walk.hasBigInt);
  if (rules.hidden || rules.sorted || walk.isCyclic || isCut) return safeText(data, walk.hasBigInt ? rules.guarded() : rules, walk, ancestors);
  try {
    return JSON.stringify(result);
  } catch (error) {
    // A BigInt or a cycle that no walk sees: in a box, or from an inconsistent getter.
    if (!(error instanceof TypeError)) throw error;
    walk.isRefused = true;
    return safeText(data, rules.guarded(), walk, ancestors);
  }
}

/** Values that are walked without tracking cycles: data full of cycles would repeat them endlessly. */
const MAX_UNTRACKED = 10_000_000;

/**
 * The JSON text of data in one go.
 * @param most Values that it may hold.
 * @returns The text, undefined for data without a JSON form; for larger data the walk that found that.
 */
export function wholeText(data: unknown, rules: Rules, most: number): string | undefined | DataWalk {
  let walk = new DataWalk(rules, Math.min(most, MAX_UNTRACKED), rules.isGuarded || rules.hidden);
  let result = walk.visit(data, '', 0);
  // A walk that ended at a limit may have ended in a cycle.
  if (walk.budget < 0 ? walk.isTooDeep || most > MAX_UNTRACKED : walk.isCut && !rules.isGuarded) {
    walk = new DataWalk(rules, most, true);
    result = walk.visit(data, '', 0);
  }
  if (walk.isCyclic && !rules.isGuarded) return wholeText(data, rules.guarded(), Math.min(most, MAX_UNTRACKED));
  return walk.budget < 0 ? walk : jsonText(data, result, walk, rules);
}
