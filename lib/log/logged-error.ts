import { pino, safeStableStringify } from '../packages';

/** Most text of one error in a line of the log, in UTF-16 units; each value counts for some of it. */
const MOST_TEXT = 100_000;
const VALUE_COST = 8;
/** Longest text of one value, in UTF-16 units. */
const LONGEST = 10_000;
/** Most members of a list or object that are shown, and most levels of nesting. */
const LIMITS = { maximumBreadth: 100, maximumDepth: 8, deterministic: false, circularValue: '[Circular]' };

/**
 * Makes the serializer of errors in a line of the log: pino's, without an error's `body`, which may be a client's,
 * and cut to length, since a client may decide how much an error carries, such as one error for each member
 * of its list.
 */
export function errorSerializer(): (error: unknown) => unknown {
  const { err } = pino().stdSerializers;
  const stringify = safeStableStringify().configure(LIMITS);
  return (error) => {
    const shown = err(withFewErrors(error) as Error) as unknown;
    let left = MOST_TEXT;
    const text = stringify(shown, (name, value: unknown) => {
      left -= VALUE_COST + name.length;
      if (left <= 0 || (name === 'body' && shown !== error)) return undefined;
      if (typeof value === 'bigint') return String(value).slice(0, LONGEST);
      if (typeof value !== 'string') return value;
      const most = Math.min(LONGEST, left);
      left -= value.length;
      return value.length <= most ? value : `${value.slice(0, most)}... ${value.length - most} more characters`;
    });
    return text === undefined ? undefined : (JSON.parse(text) as unknown);
  };
}

/** The error with no more errors in a list of its own than are shown: pino's serializer writes the stack of each. */
function withFewErrors(error: unknown): unknown {
  const { errors } = (error ?? {}) as { errors?: unknown[] };
  if (!Array.isArray(errors) || errors.length <= LIMITS.maximumBreadth) return error;
  const few = errors.slice(0, LIMITS.maximumBreadth - 1);
  few.push(`... ${errors.length - few.length} more`);
  return Object.create(error as object, { errors: { value: few } });
}
