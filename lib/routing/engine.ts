import { findMyWay } from '../packages';
import type { Pattern } from './patterns/pattern';
import type { Segment } from './patterns/segment';

/** A segment of a shape: static text, any one segment (`null`), or all that follows. */
export type ShapeSegment = string | null | typeof REST;

/** Stands for `**` in a shape. */
export const REST = Symbol('waypost.rest');

/**
 * What the engine can tell of a pattern: where it has static text, where any
 * segment, and where all the rest. Patterns of one shape share one entry in
 * the engine; what tells them apart is tested by the pattern itself. So the
 * engine never sees an expression, a constraint or a name of a parameter.
 */
export class Shape {
  readonly key: string;
  readonly segments: readonly ShapeSegment[];
  /** Names of the engine's captures, in order. */
  readonly captures: readonly string[];

  constructor(key: string, segments: readonly ShapeSegment[]) {
    this.key = key;
    this.segments = segments;
    this.captures = segments.flatMap((segment, index) => {
      if (segment === null) return [`p${index}`];
      return segment === REST ? ['*'] : [];
    });
  }
}

/** The captures of a lookup by the names in `Shape.captures`, not decoded. */
export type Captures = Record<string, string | undefined>;

const NO_CAPTURES: Captures = Object.freeze({});

/** What a lookup finds. */
export interface Found {
  readonly store: Shape;
  readonly params: Captures;
}

/**
 * find-my-way, told of shapes only. A lookup returns some shape that the path
 * has, the most specific first; no route can match a path that has no shape.
 */
export class Engine {
  readonly #shapes = new Map<string, Shape>();
  /**
   * What is found of the shapes without captures, by the length of their paths and by these: what a path is by every character is
   * the most specific that it has. A Map would have V8 hash each path that is asked for, and V8 14 keep it among its strings.
   */
  readonly #static: (Record<string, Found> | undefined)[] = [];
  /** Made when there is something to capture: to load find-my-way takes as long as half a start. */
  #router: ReturnType<ReturnType<typeof findMyWay>> | null = null;

  /**
   * Adds the shapes of a pattern, or returns those that are there: each path that it matches has one of them.
   * @param prefix Whether it is the path of middleware, which takes what lies beneath as well.
   */
  add({ segments, tail }: Pattern, prefix = false): Shape[] {
    const shape = shapeOf(segments);
    const isOpen = shape[shape.length - 1] === REST;
    if (prefix && !isOpen) return [this.#add([...shape, REST]), this.#add(shape)];
    if (tail?.mayBeEmpty !== true) return [this.#add(shape)];
    // A rest of but a slash may have been cut off.
    const bare = shape.length === 1 ? [''] : shape.slice(0, -1);
    return [this.#add(shape), this.#add(bare)];
  }

  #add(segments: readonly ShapeSegment[]): Shape {
    const path = enginePath(segments);
    const known = this.#shapes.get(path);
    if (known !== undefined) return known;
    const shape = new Shape(path, segments);
    this.#shapes.set(path, shape);
    if (shape.captures.length === 0) {
      const text = `/${segments.join('/')}`;
      const ofLength = (this.#static[text.length] ??= Object.create(null) as Record<string, Found>);
      ofLength[text] = { store: shape, params: NO_CAPTURES };
      return shape;
    }
    // Node bounds the length of a target already (maxHeaderSize), and a query never gets here.
    this.#router ??= findMyWay()({ maxParamLength: Infinity, querystringParser: nothing });
    this.#router.on('GET', path, unused, shape);
    return shape;
  }

  /** @param path A path that starts with `/` and holds no `%`, `?` or `#`: the engine skips the first character unread, and decodes. */
  find(path: string): Found | null {
    return this.#static[path.length]?.[path] ?? this.#router?.find('GET', path) ?? null;
  }
}

function nothing(): Record<string, never> | undefined {
  return undefined;
}

function unused(): void {
  // The engine asks for a handler; it is never called, since only find() is used.
}

function shapeOf(pattern: readonly Segment[]): ShapeSegment[] {
  const segments: ShapeSegment[] = [];
  for (const segment of pattern) {
    // What stands behind a "**" is left to the pattern's own test, as is what takes the rest.
    if (segment.kind === 'deep' || segment.kind === 'tail') return [...segments, REST];
    segments.push(segment.kind === 'static' && !isOpaque(segment.text) ? segment.text : null);
  }
  return segments;
}

/**
 * Static text that the engine would not compare as it is: "*" is its wildcard,
 * and an escape that decoding leaves is not in what it is asked for.
 */
function isOpaque(text: string): boolean {
  return /[*%?#]/.test(text);
}

function enginePath(segments: readonly ShapeSegment[]): string {
  const texts = segments.map((segment, index) => {
    if (segment === REST) return '*';
    // "::" is how the engine writes a colon.
    return segment === null ? `:p${index}` : segment.replaceAll(':', '::');
  });
  return '/' + texts.join('/');
}
