import { XJSON_DEFAULTS, type XJsonOptions } from './options';

interface Limits {
  /** Levels of containers. */
  readonly depth: number;
  /** Units of a string. */
  readonly string: number;
}

const UNLIMITED: Limits = { depth: Infinity, string: Infinity };
const DEFAULTS: Limits = { depth: XJSON_DEFAULTS.maxDepth, string: XJSON_DEFAULTS.truncateStrings };

/** Rules for writing data. The default limits are in force only for data that JSON.stringify cannot handle. */
export class Rules {
  /** Limits in force: the given ones, and the defaults where they guard. */
  readonly limits: Limits;

  private constructor(
    /** The given limits, and the defaults for the others. */
    readonly safe: Limits,
    given: Limits,
    /** True where the defaults are in force. */
    readonly isGuarded: boolean,
    /** True to write non-enumerable properties too. */
    readonly hidden: boolean,
    /** True to sort names. */
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
