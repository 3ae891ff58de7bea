import { XJSON_DEFAULTS, type XJsonOptions } from './options';

interface Limits {
  /** Levels of containers. */
  readonly depth: number;
  /** Units of a string. */
  readonly string: number;
}

const UNLIMITED: Limits = { depth: Infinity, string: Infinity };
const DEFAULTS: Limits = { depth: XJSON_DEFAULTS.maxDepth, string: XJSON_DEFAULTS.truncateStrings };

/** How data is written. The defaults of the limits are in force only for data that JSON.stringify cannot handle. */
export class Rules {
  /** Those that are in force: whatever was given, and the defaults too where they guard. */
  readonly limits: Limits;

  private constructor(
    /** The limits that were given, and the defaults for the others. */
    readonly safe: Limits,
    given: Limits,
    /** Whether the defaults are in force. */
    readonly isGuarded: boolean,
    /** Whether non-enumerable properties are written too. */
    readonly hidden: boolean,
    /** Whether names are sorted. */
    readonly sorted: boolean,
  ) {
    this.limits = isGuarded ? safe : given;
  }

  static of({ maxDepth, truncateStrings, includeNonEnumerable, stable }: XJsonOptions): Rules {
    if (maxDepth === undefined && truncateStrings === undefined && includeNonEnumerable !== true && stable !== true) return Rules.PLAIN;
    return new Rules(
      { depth: maxDepth ?? DEFAULTS.depth, string: truncateStrings ?? DEFAULTS.string },
      { depth: maxDepth ?? Infinity, string: truncateStrings ?? Infinity },
      maxDepth !== undefined && truncateStrings !== undefined,
      includeNonEnumerable === true,
      stable === true,
    );
  }

  /** The same, with the defaults in force. */
  guarded(): Rules {
    return this.isGuarded ? this : new Rules(this.safe, this.safe, true, this.hidden, this.sorted);
  }

  static readonly PLAIN = new Rules(DEFAULTS, UNLIMITED, false, false, false);
}
