import type { Drill } from './drill';
import { halfHead } from './half-head';
import { reset } from './reset';

/** All drills, in the order of their table. */
export const DRILLS: readonly Drill[] = [reset, halfHead];
