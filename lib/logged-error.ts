import { types } from 'node:util';

/** Most text of one error in a line of the log, in UTF-16 units; each value counts for some of it. */
const MOST_TEXT = 100_000;
const FOR_A_VALUE = 8;
/** Longest text of one value, in UTF-16 units. */
const LONGEST = 10_000;
/** Most members of a list or object that are shown. */
const MOST_MEMBERS = 100;
/** How many objects within one another are shown. */
const DEEPEST = 8;
/** The integers that are shown lie below, on both sides of 0. */
const LARGEST = 10n ** 300n;
const UNREADABLE = '[unreadable]';
const { toJSON: BYTES } = Buffer.prototype as { readonly toJSON: unknown };

/**
 * What a line of the log shows of an error: all of it, but where that is more than a line should hold. A client may say how
 * much an error carries, such as one error for each member of its list, and the line is written before anything else runs.
 * It is to be written as the error itself would be.
 */
export function loggedError(error: unknown): unknown {
  return new Excerpt().raised(error);
}

/** As pino takes it for one. */
function isErrorLike(value: unknown): value is Error {
  return (typeof value === 'object' || typeof value === 'function') && value !== null && typeof (value as Error).message === 'string';
}

class Excerpt {
  #left = MOST_TEXT;
  readonly #around: object[] = [];

  /** What may be an error, in a place where one is written with its message. */
  raised(value: unknown, name?: string): unknown {
    return isErrorLike(value) ? this.#within(value, () => this.#error(value)) : this.#plain(value, name);
  }

  /** What is written as JSON.stringify does, of a member by that name. */
  #plain(value: unknown, name = ''): unknown {
    this.#left -= FOR_A_VALUE;
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return this.bare(value);
    return this.#within(value, () => {
      const { toJSON } = value as { toJSON?: unknown };
      // Of bytes that makes a list of all.
      return this.bare(typeof toJSON === 'function' && toJSON !== BYTES ? (toJSON as (name: string) => unknown).call(value, name) : value);
    });
  }

  /** What is not asked for what else is to be written, or has been asked. */
  bare(value: unknown): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'bigint') return value < LARGEST && value > -LARGEST ? value : '[BigInt]';
    if (typeof value === 'function') return undefined;
    if (typeof value !== 'object' || value === null) return value;
    if (types.isStringObject(value)) return this.#text(String(value));
    if (types.isNumberObject(value)) return Number(value);
    if (types.isBooleanObject(value)) return Boolean.prototype.valueOf.call(value);
    if (ArrayBuffer.isView(value)) return value.byteLength > MOST_MEMBERS ? `[${Object.prototype.toString.call(value).slice(8, -1)} of ${value.byteLength} bytes]` : value;
    if (Array.isArray(value)) return this.#list(value, (each, index) => this.#plain(each, String(index)));
    return this.#members(Object.keys(value), (name) => this.#plain((value as Record<string, unknown>)[name], name));
  }

  #within(value: object, show: () => unknown): unknown {
    if (this.#around.includes(value)) return '[Circular]';
    if (this.#around.length === DEEPEST || this.#left <= 0) return Array.isArray(value) ? '[Array]' : '[Object]';
    this.#around.push(value);
    try {
      return show();
    } finally {
      this.#around.pop();
    }
  }

  #text(text: string): string {
    const most = Math.max(0, Math.min(LONGEST, this.#left));
    this.#left -= Math.min(most, text.length);
    return text.length <= most ? text : `${text.slice(0, most)}... ${text.length - most} more characters`;
  }

  #list(list: readonly unknown[], show: (each: unknown, index: number) => unknown): unknown[] {
    const shown: unknown[] = [];
    while (shown.length < Math.min(list.length, MOST_MEMBERS) && this.#left > 0) shown.push(readable(() => show(list[shown.length], shown.length)));
    if (shown.length < list.length) shown.push(`... ${list.length - shown.length} more`);
    return shown;
  }

  /** Not of its prototype, whose accessors may want what only the error itself has. */
  #error(error: Error & { errors?: unknown }): object {
    const { constructor, errors } = error;
    const { toJSON } = error as { toJSON?: unknown };
    const known: Record<string, unknown> = { constructor, name: this.raised(error.name), message: this.#plain(error.message), stack: this.#plain(error.stack), cause: this.#cause(error) };
    if (Array.isArray(errors)) known['errors'] = this.#list(errors, (each, index) => this.raised(each, String(index)));
    const names: string[] = [];
    // What it inherits is shown too, and none that it is within.
    for (const name in error) {
      if (!this.#around.includes(readable(() => (error as unknown as Record<string, object>)[name]) as object)) names.push(name);
    }
    const shown = this.#members(names.filter((name) => name !== 'toJSON'), (name) => (Object.hasOwn(known, name) ? known[name] : this.raised((error as unknown as Record<string, unknown>)[name], name)));
    // It may be there to hide what is among the others, however many those are.
    if (typeof toJSON === 'function' && names.includes('toJSON')) known['toJSON'] = hiding(toJSON as () => unknown);
    for (const [name, value] of Object.entries(known)) {
      if (!Object.hasOwn(shown, name)) Object.defineProperty(shown, name, { value, enumerable: name === 'toJSON', writable: true, configurable: true });
    }
    return shown;
  }

  /** It may be a method, as errors of VError have it. */
  #cause(error: Error): unknown {
    const { cause } = error;
    if (typeof cause !== 'function') return this.#caused(cause);
    const shown = this.#caused(cause.call(error));
    return () => shown;
  }

  #caused(cause: unknown): unknown {
    const shown = this.raised(cause);
    // In a circle, or too deep.
    return typeof shown === 'string' && isErrorLike(cause) ? { message: '...', stack: '...' } : shown;
  }

  #members(names: readonly string[], show: (name: string) => unknown): object {
    const shown = {};
    let count = 0;
    for (const name of names) {
      if (count === MOST_MEMBERS || this.#left <= 0) break;
      Object.defineProperty(shown, this.#text(name), { value: readable(() => show(name)), writable: true, enumerable: true, configurable: true });
      count++;
    }
    if (count < names.length) Object.assign(shown, { '...': `${names.length - count} more` });
    return shown;
  }
}

/** A `toJSON` whose words are held to what a line should hold. */
function hiding(toJSON: (this: unknown, name: string) => unknown): (name: string) => unknown {
  return function (this: unknown, name) {
    return readable(() => {
      const given = toJSON.call(this, name);
      return given === this ? given : new Excerpt().bare(given);
    });
  };
}

/** What can't be read shows nothing, so that what stands beside it is written as it would be without it. */
function readable(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return UNREADABLE;
  }
}
