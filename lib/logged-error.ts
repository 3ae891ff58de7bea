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
  raised(value: unknown): unknown {
    return isErrorLike(value) ? this.#within(value, () => this.#error(value)) : this.#plain(value);
  }

  /** What is written as JSON.stringify does. */
  #plain(value: unknown): unknown {
    this.#left -= FOR_A_VALUE;
    if (typeof value === 'string') return this.#text(value);
    if (typeof value === 'bigint') return value < LARGEST && value > -LARGEST ? value : '[BigInt]';
    if (typeof value === 'function') return undefined;
    if (typeof value !== 'object' || value === null) return value;
    if (types.isBoxedPrimitive(value)) return this.#unboxed(value.valueOf());
    if (ArrayBuffer.isView(value) && value.byteLength > MOST_MEMBERS) return `[${Object.prototype.toString.call(value).slice(8, -1)} of ${value.byteLength} bytes]`;
    return this.#within(value, () => this.#object(value));
  }

  #unboxed(value: unknown): unknown {
    return typeof value === 'object' ? UNREADABLE : this.#plain(value);
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

  #object(value: object): unknown {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON === 'function') {
      const plain: unknown = toJSON.call(value, '');
      if (plain !== value) return this.#plain(plain);
    }
    if (Array.isArray(value)) return this.#list(value, (each) => this.#plain(each));
    return this.#members(Object.keys(value), (name) => this.#plain((value as Record<string, unknown>)[name]));
  }

  #list(list: readonly unknown[], show: (each: unknown) => unknown): unknown[] {
    const shown: unknown[] = [];
    while (shown.length < Math.min(list.length, MOST_MEMBERS) && this.#left > 0) shown.push(readable(() => show(list[shown.length])));
    if (shown.length < list.length) shown.push(`... ${list.length - shown.length} more`);
    return shown;
  }

  /** Not of its prototype, whose accessors may want what only the error itself has. */
  #error(error: Error & { errors?: unknown; toJSON?: unknown }): object {
    const { constructor, errors, toJSON } = error;
    const known: Record<string, unknown> = { constructor, name: this.raised(error.name), message: this.#plain(error.message), stack: this.#plain(error.stack), cause: this.#cause(error) };
    if (Array.isArray(errors)) known['errors'] = this.#list(errors, (each) => this.raised(each));
    let names: string[] = [];
    // What it inherits is shown too, and none that it is within.
    for (const name in error) {
      if (!this.#around.includes(readable(() => (error as unknown as Record<string, object>)[name]) as object)) names.push(name);
    }
    if (typeof toJSON === 'function' && names.includes('toJSON')) {
      // It may be there to hide what is among the others, however many those are.
      const excerpt = (value: unknown): unknown => this.#plain(value);
      known['toJSON'] = function (this: unknown): unknown {
        return readable(() => {
          const given: unknown = toJSON.call(this, '');
          return given === this ? given : excerpt(given);
        });
      };
      names = ['toJSON', ...names.filter((name) => name !== 'toJSON')];
    }
    const shown = this.#members(names, (name) => (Object.hasOwn(known, name) ? known[name] : this.raised((error as unknown as Record<string, unknown>)[name])));
    for (const [name, value] of Object.entries(known)) {
      if (!Object.hasOwn(shown, name)) Object.defineProperty(shown, name, { value, writable: true, configurable: true });
    }
    return shown;
  }

  /** It may be a method, as errors of VError have it. */
  #cause(error: Error): unknown {
    const { cause } = error;
    if (typeof cause !== 'function') return this.raised(cause);
    const shown = this.raised(cause.call(error));
    return () => shown;
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

/** What can't be read shows nothing, so that what stands beside it is written as it would be without it. */
function readable(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return UNREADABLE;
  }
}
