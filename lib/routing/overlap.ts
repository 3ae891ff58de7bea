import { REST, type Shape, type ShapeSegment } from './engine';
import type { Layer } from './layer';
import type { Pattern } from './pattern';
import type { Segment, Tail } from './pattern-segment';

/** Whether a pattern matches the paths of a shape: every one, some (to be tested), or none. */
export type Verdict = 'always' | 'test' | 'never';

/** What the patterns of a layer, taken in order, say of the paths of a shape. */
export function judgeLayer(layer: Layer, shape: Shape): Verdict {
  const prefix = layer.place === null;
  for (const pattern of layer.patterns) {
    const verdict = judge(pattern, prefix, shape);
    // Which of several alternatives matches decides what is captured: only if the first that can also must, is there nothing to test.
    if (verdict !== 'never') return verdict;
  }
  return 'never';
}

/** What a pattern says of the paths of a shape. Never `always` or `never` where it can't be sure. */
export function judge(pattern: Pattern, prefix: boolean, shape: Shape): Verdict {
  const verdict = judgeSegments(pattern, prefix, shape);
  if (verdict !== 'always') return verdict;
  return pattern.unless.some((other) => judge(other, true, shape) !== 'never') ? 'test' : verdict;
}

/** Walks pattern and shape together, segment by segment. */
function judgeSegments(pattern: Pattern, prefix: boolean, shape: Shape): Verdict {
  const { segments } = pattern;
  const open = shape.segments[shape.segments.length - 1] === REST;
  const fixed = open ? shape.segments.length - 1 : shape.segments.length;
  let verdict: Verdict = 'always';
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i] as Segment;
    if (segment.kind === 'deep') return worse(verdict, judgeDeep(pattern, i, fixed, open, shape));
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

/** From a `**` at `index` on: how many segments follow is known only where the shape has no `**` of its own. */
function judgeDeep(pattern: Pattern, index: number, fixed: number, open: boolean, shape: Shape): Verdict {
  const rest = pattern.segments.length - index;
  if (!open && fixed < index + rest) return 'never';
  if (rest > 1) return 'test';
  if (index > fixed) return 'test';
  // A shape's "any segment" and its "**" begin with a segment that is not empty, for the paths a plan is made for.
  return shape.segments[index] === '' ? 'never' : 'always';
}

/** From a tail at `index` on, up to which all segments may match. */
function judgeTail(tail: Tail, index: number, fixed: number, open: boolean, shape: Shape): Verdict {
  if (index === fixed && !open) return tail.mayBeBare ? 'test' : 'never';
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

/** A node of the index: what ends here, what may go on anywhere below, and the next segments. */
class Node {
  readonly texts = new Map<string, Node>();
  any: Node | undefined;
  readonly ends: Layer[] = [];
  readonly open: Layer[] = [];
}

/**
 * Finds the layers that can apply to a shape without a look at all of them, so
 * that the plan for one of ten thousand routes costs what it holds.
 */
export class LayerIndex {
  readonly #root = new Node();

  add(layer: Layer): void {
    for (const pattern of layer.patterns) this.#place(layer, pattern);
  }

  #place(layer: Layer, pattern: Pattern): void {
    let node = this.#root;
    for (const segment of pattern.segments) {
      if (segment.kind === 'deep' || segment.kind === 'tail') {
        node.open.push(layer);
        return;
      }
      node = segment.kind === 'static' ? childOf(node, segment.text) : (node.any ??= new Node());
    }
    (layer.place === null ? node.open : node.ends).push(layer);
  }

  /** The layers that can apply to paths of the shape, and perhaps some that can't, in order. */
  candidates(shape: Shape): Layer[] {
    const found = new Set<Layer>();
    collect(this.#root, shape.segments, 0, found);
    return [...found].sort((a, b) => a.mark.order - b.mark.order);
  }
}

function childOf(node: Node, text: string): Node {
  let child = node.texts.get(text);
  if (child === undefined) node.texts.set(text, child = new Node());
  return child;
}

function collect(node: Node, segments: readonly ShapeSegment[], index: number, found: Set<Layer>): void {
  for (const layer of node.open) found.add(layer);
  if (index === segments.length) {
    for (const layer of node.ends) found.add(layer);
    return;
  }
  const segment = segments[index] as ShapeSegment;
  if (segment === REST) return collectAll(node, found);
  if (node.any !== undefined) collect(node.any, segments, index + 1, found);
  if (segment === null) {
    for (const child of node.texts.values()) collect(child, segments, index + 1, found);
  } else {
    const child = node.texts.get(segment);
    if (child !== undefined) collect(child, segments, index + 1, found);
  }
}

function collectAll(node: Node, found: Set<Layer>): void {
  for (const layer of node.open) found.add(layer);
  for (const layer of node.ends) found.add(layer);
  if (node.any !== undefined) collectAll(node.any, found);
  for (const child of node.texts.values()) collectAll(child, found);
}
