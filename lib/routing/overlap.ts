import { REST, type Shape, type ShapeSegment } from './engine';
import type { Pattern } from './patterns/pattern';
import type { Segment, Tail } from './patterns/segment';

/** Paths of a shape that a pattern matches: every one, some (to be tested), or none. */
export type Verdict = 'always' | 'test' | 'never';

/** Judges patterns in order, of which the first that matches counts. */
export function judgeAll(patterns: readonly Pattern[], prefix: boolean, shape: Shape): Verdict {
  for (const pattern of patterns) {
    const verdict = judge(pattern, prefix, shape);
    // The first that can match decides the captures: a later "always" proves nothing.
    if (verdict !== 'never') return verdict;
  }
  return 'never';
}

/** Walks pattern and shape together, segment by segment. Returns `test` where it can't be sure. */
export function judge({ segments }: Pattern, prefix: boolean, shape: Shape): Verdict {
  const open = shape.segments[shape.segments.length - 1] === REST;
  const fixed = open ? shape.segments.length - 1 : shape.segments.length;
  let verdict: Verdict = 'always';
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i] as Segment;
    if (segment.kind === 'deep') return worse(verdict, judgeDeep(segments.length - i, i, fixed, open, shape));
    if (segment.kind === 'tail') return worse(verdict, judgeTail(segment, i, fixed, open, shape));
    if (i >= fixed) return open ? 'test' : 'never';
    const judged = judgeSegment(segment, shape.segments[i] as ShapeSegment);
    if (judged === 'never') return 'never';
    verdict = worse(verdict, judged);
  }
  if (prefix) return verdict;
  if (open) return segments.length > fixed ? 'test' : 'never';
  return segments.length === fixed ? verdict : 'never';
}

/** Judges from a `**` at `index` on: only a shape without `**` has a known length. */
function judgeDeep(rest: number, index: number, fixed: number, open: boolean, shape: Shape): Verdict {
  if (!open && fixed < index + rest) return 'never';
  if (rest > 1) return 'test';
  if (index > fixed) return 'test';
  // In the paths of a plan, no "any segment" and no "**" begins empty.
  return shape.segments[index] === '' ? 'never' : 'always';
}

/** Judges from a tail at `index` on, up to which all segments may match. */
function judgeTail(tail: Tail, index: number, fixed: number, open: boolean, shape: Shape): Verdict {
  if (index === fixed && !open) return tail.mayBeEmpty ? 'test' : 'never';
  return tail.takesAll && shape.segments[index] !== '' ? 'always' : 'test';
}

function judgeSegment(segment: Segment, given: ShapeSegment): Verdict {
  if (segment.kind === 'static') {
    if (given === segment.text) return 'always';
    return given === null ? 'test' : 'never';
  }
  if (given === '') return 'never';
  return segment.kind === 'param' ? 'always' : 'test';
}

function worse(a: Verdict, b: Verdict): Verdict {
  if (a === 'never' || b === 'never') return 'never';
  return a === 'test' || b === 'test' ? 'test' : 'always';
}
