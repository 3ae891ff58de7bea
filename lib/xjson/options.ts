import { describe, type Fields, matching, refuse } from '../options/field';

/**
 * Options of `res.xJson`, `XJsonResponseHandler` and its middleware
 * (INTERFACE section 2.3). A limit that is given always applies; the
 * defaults of `maxDepth` and `truncateStrings` guard only data that
 * `JSON.stringify` cannot handle, so that ordinary data never loses a character.
 */
export interface XJsonOptions {
  /**
   * Deepest level of objects and arrays that is written; the root is level 1.
   * A container below it becomes `"[Object]"` or `"[Array]"`, an empty one stays
   * as it is. A positive integer, in levels.
   * @default 20
   */
  maxDepth?: number | undefined;
  /**
   * Longest string value, in UTF-16 units. A longer one is cut to at most this
   * many, the last one being `…`. A positive integer.
   * @default 10000
   */
  truncateStrings?: number | undefined;
  /**
   * Writes the non-enumerable own properties of objects too.
   * @default false
   */
  includeNonEnumerable?: boolean | undefined;
  /**
   * Sends a body of more than 65,536 bytes in chunks, as the client takes them;
   * false sends it in one write.
   * @default true
   */
  enableStreaming?: boolean | undefined;
  /**
   * Size of a chunk of a streamed body, in bytes. A positive integer.
   * @default 65536
   */
  chunkSize?: number | undefined;
  /**
   * Sorts names, so that equal data gives equal bytes whatever the order of its
   * properties.
   * @default false
   */
  stable?: boolean | undefined;
}

/** Bodies above this many bytes are sent in chunks (INTERFACE section 8). */
export const STREAMING_THRESHOLD = 65_536;

/** The defaults of INTERFACE section 2.3. */
export const XJSON_DEFAULTS = Object.freeze({
  maxDepth: 20,
  truncateStrings: 10_000,
  includeNonEnumerable: false,
  enableStreaming: true,
  chunkSize: 65_536,
  stable: false,
} satisfies Required<XJsonOptions>);

const positive = matching<number>('a positive integer', (given) => Number.isSafeInteger(given) && (given as number) > 0);
const trueOrFalse = matching<boolean>('true or false', (given) => typeof given === 'boolean');
const FIELDS = Object.entries({ maxDepth: positive, truncateStrings: positive, includeNonEnumerable: trueOrFalse, enableStreaming: trueOrFalse, chunkSize: positive, stable: trueOrFalse } satisfies Fields<XJsonOptions>);

/**
 * Checks options, and returns the same object.
 * @throws TypeError that names the option, what it must be and what was given.
 */
export function checkXJsonOptions(options: unknown): XJsonOptions {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) return refuse('xJson options', 'an object such as { maxDepth: 20 }', describe(options));
  for (const [name, field] of FIELDS) {
    const value = (options as Record<string, unknown>)[name];
    if (value !== undefined) field(value, `xJson option ${name}`, []);
  }
  return options;
}

/**
 * Merges two checked sets of options: the second overrides the first, except
 * where it is undefined.
 */
export function mergeXJsonOptions(base: XJsonOptions | undefined, over: XJsonOptions | undefined): XJsonOptions {
  if (base === undefined) return over ?? NONE;
  if (over === undefined) return base;
  return {
    maxDepth: over.maxDepth ?? base.maxDepth,
    truncateStrings: over.truncateStrings ?? base.truncateStrings,
    includeNonEnumerable: over.includeNonEnumerable ?? base.includeNonEnumerable,
    enableStreaming: over.enableStreaming ?? base.enableStreaming,
    chunkSize: over.chunkSize ?? base.chunkSize,
    stable: over.stable ?? base.stable,
  };
}

const NONE: XJsonOptions = Object.freeze({});
