import { DataWalk, type Place } from './data-walk';
import type { Rules } from './rules';
import { safeText } from './safe-text';

/**
 * The JSON text of data that a walk has seen whole.
 * @param seen What the walk made of it.
 * @param place Where the data stands, and that its toJSON has been asked. @default the root
 */
export function textOf(data: unknown, seen: unknown, walk: DataWalk, rules: Rules, place?: Place): string | undefined {
  // The defaults are in force for what JSON.stringify cannot handle, and something is beyond them.
  const isCut = walk.isCut || (walk.passesDefaults && walk.hasBigInt);
  if (rules.hidden || rules.sorted || walk.isCyclic || isCut) return safeText(data, walk.hasBigInt ? rules.guarded() : rules, walk, place);
  try {
    return JSON.stringify(seen);
  } catch (error) {
    // A BigInt or a cycle that no walk sees: in a box, or out of a getter that returns another value each time.
    if (!(error instanceof TypeError)) throw error;
    walk.isRefused = true;
    return safeText(data, rules.guarded(), walk, place);
  }
}

/** Values up to which data is looked at without looking for cycles: of data full of cycles those would be found again and again. */
const MOST_BLIND = 10_000_000;

/**
 * The JSON text of data in one go.
 * @param most Values that it may hold.
 * @returns The text, undefined where the data has no JSON form; where it is too large, the walk that says so.
 */
export function wholeText(data: unknown, rules: Rules, most: number): string | undefined | DataWalk {
  let walk = new DataWalk(rules, Math.min(most, MOST_BLIND), rules.isGuarded || rules.hidden);
  let seen = walk.value(data, '', 0);
  // Where it ended at a limit, that may have been in a cycle.
  if (walk.left < 0 ? walk.tooDeep || most > MOST_BLIND : walk.isCut && !rules.isGuarded) {
    walk = new DataWalk(rules, most, true);
    seen = walk.value(data, '', 0);
  }
  if (walk.isCyclic && !rules.isGuarded) return wholeText(data, rules.guarded(), Math.min(most, MOST_BLIND));
  return walk.left < 0 ? walk : textOf(data, seen, walk, rules);
}
