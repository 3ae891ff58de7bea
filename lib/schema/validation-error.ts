import type { StandardSchemaV1 } from '@standard-schema/spec';
import { ERRORS, HttpError } from '../errors';

/** Parts of a request that schemas check, in their order. */
export const PARTS = ['params', 'query', 'headers', 'body'] as const;

/** A part of a request that a schema checks. */
export type RequestPart = (typeof PARTS)[number];

/** One thing that a schema has against a request. */
export interface ValidationIssue {
  /** The part of the request. */
  readonly in: RequestPart;
  /** Names and indices that lead to the value, from the part on; empty for the part itself. */
  readonly path: readonly (string | number)[];
  /** The message of the schema. */
  readonly message: string;
}

/** Most issues that an answer holds, and most characters of their paths and messages: many may repeat one long name. */
const MOST_SHOWN = 100;
const MOST_TEXT = 16_384;

/**
 * A request that is not as the schemas of its route ask. It passes through
 * error middleware as any error does; by default it is answered with its
 * status, and its issues as `errors`: the first 100, of 16,384 characters in all.
 */
export class ValidationError extends HttpError {
  /** All issues of all parts, in the order of params, query, headers, body. */
  readonly issues: readonly ValidationIssue[];

  /**
   * @param issues One or more.
   * @param status HTTP status of the default answer, 400 to 499. @default 400
   */
  constructor(issues: readonly ValidationIssue[], status: number = ERRORS.INVALID_REQUEST.status) {
    super(status, 'INVALID_REQUEST', `${ERRORS.INVALID_REQUEST.message}: ${describeIssues(issues)}`, { members: { errors: shownOf(issues) } });
    this.name = 'ValidationError';
    this.issues = issues;
  }
}

function shownOf(issues: readonly ValidationIssue[]): ValidationIssue[] {
  let left = MOST_TEXT;
  return issues.slice(0, MOST_SHOWN).filter(({ path, message }) => (left -= path.join().length + message.length) >= 0);
}

/** Names and indices that lead to an issue's value. */
export function pathOfIssue({ path = [] }: StandardSchemaV1.Issue): (string | number)[] {
  return path.map((step) => {
    const key = typeof step === 'object' ? step.key : step;
    return typeof key === 'symbol' ? String(key) : key;
  });
}

/** The first issue, and how many follow. */
export function describeIssues(issues: readonly (Omit<ValidationIssue, 'in'> & { readonly in?: string })[]): string {
  const [first] = issues;
  if (first === undefined) return 'no issue was named';
  const place = [...(first.in === undefined ? [] : [first.in]), ...first.path].join('.');
  return `${place === '' ? '' : `${place}: `}${first.message}${issues.length > 1 ? `, and ${issues.length - 1} more` : ''}`;
}
