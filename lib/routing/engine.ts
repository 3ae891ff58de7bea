import { findMyWay } from '../packages';
import type { Pattern } from './patterns/pattern';
import type { Segment } from './patterns/segment';

/** A segment of a shape: static text, any one segment (`null`), or all that follows. */
export type ShapeSegment = string | null | typeof REST;

/** The rest of a path, `**`, in a shape. */
export const REST = Symbol('waypost.rest');

/**
 * The part of a pattern that the engine knows: static text, any segment, or all
 * the rest. Patterns of one shape share one entry in the engine, and match by
 * their own test. So the engine never sees an expression, a constraint or a
 * parameter's name.
 */
export class Shape {
  readonly segments: readonly ShapeSegment[];
  /** Names of the engine's captures, in order. */
  readonly captures: readonly string[];

  constructor(segments: readonly ShapeSegment[]) {
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

/** Result of a lookup. */
export interface Found {
  readonly store: Shape;
  readonly params: Captures;
}

/**
 * Index of shapes by find-my-way. A lookup returns the most specific shape of a
 * path; no route matches a path without one.
 */
export class Engine {
  readonly #shapes = new Map<string, Shape>();
  /**
   * Static shapes by the length of their paths, then by path: an equal path is the most specific shape.
   * A Map would have V8 hash each path that is looked up, and V8 14 intern it.
   */
  readonly #static: (Record<string, Found> | undefined)[] = [];
  /** Created for the first shape with captures: loading find-my-way takes half of the start. */
  #router: ReturnType<ReturnType<typeof findMyWay>> | null = null;
  /** False where Node forbids code from strings, which find-my-way makes: then nothing is found. */
  mayGenerateCode = true;

  /**
   * Adds the shapes of a pattern, or returns known ones. Each path that it matches has one of them.
   * @param prefix True for the path of middleware, which takes the paths beneath it too.
   */
  add({ segments, tail }: Pattern, prefix = false): Shape[] {
    const shape = shapeOf(segments);
    const isOpen = shape[shape.length - 1] === REST;
    if (prefix && !isOpen) return [this.#add([...shape, REST]), this.#add(shape)];
    if (tail?.mayBeEmpty !== true) return [this.#add(shape)];
    // A rest of a slash alone may have been cut off.
    const bare = shape.length === 1 ? [''] : shape.slice(0, -1);
    return [this.#add(shape), this.#add(bare)];
  }

  #add(segments: readonly ShapeSegment[]): Shape {
    const path = enginePath(segments);
    const known = this.#shapes.get(path);
    if (known !== undefined) return known;
    const shape = new Shape(segments);
    this.#shapes.set(path, shape);
    if (shape.captures.length === 0) {
      const text = `/${segments.join('/')}`;
      const ofLength = (this.#static[text.length] ??= Object.create(null) as Record<string, Found>);
      ofLength[text] = { store: shape, params: NO_CAPTURES };
      return shape;
    }
    // Node bounds the length of a target already (maxHeaderSize), and a query never gets here.
    this.#router ??= findMyWay()({ maxParamLength: Infinity, querystringParser: parseNothing });
    try {
      this.#router.on('GET', path, unusedHandler, shape);
    } catch (error) {
      if (!(error instanceof EvalError)) throw error;
      this.mayGenerateCode = false;
    }
    return shape;
  }

  /** @param path Path with a leading `/`, without `%`, `?` and `#`: the engine skips the first character, and decodes. */
  find(path: string): Found | null {
    return this.#static[path.length]?.[path] ?? this.#router?.find('GET', path) ?? null;
  }
}

function parseNothing(): Record<string, never> | undefined {
  return undefined;
}

function unusedHandler(): void {
  // The engine asks for a handler; it is never called, since only find() is used.
}

function shapeOf(pattern: readonly Segment[]): ShapeSegment[] {
  const segments: ShapeSegment[] = [];
  for (const segment of pattern) {
    // The pattern's own test covers the segments behind a "**", and a tail.
    if (segment.kind === 'deep' || segment.kind === 'tail') return [...segments, REST];
    segments.push(segment.kind === 'static' && !isOpaque(segment.text) ? segment.text : null);
  }
  return segments;
}

/**
 * Returns true for static text that the engine can't compare: "*" is its
 * wildcard, and its keys hold no escapes.
 */
function isOpaque(text: string): boolean {
  return /[*%?#]/.test(text);
}

function enginePath(segments: readonly ShapeSegment[]): string {
  const texts = segments.map((segment, index) => {
    if (segment === REST) return '*';
    // The engine writes a colon "::".
    return segment === null ? `:p${index}` : segment.replaceAll(':', '::');
  });
  return '/' + texts.join('/');
}
