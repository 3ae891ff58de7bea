import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { HttpError } from '../errors';
import { assign } from '../http/assignable';
import { hasBody, kRawBody } from '../http/body/capture';
import { kBody, type RequestBody } from '../http/body/request-body';
import type { Request } from '../http/request';
import { type Contract, type Contracted, kContract } from './contracted';
import type { ResponseSchemas, Schema } from './route-options';
import { describeIssues, PARTS, pathOfIssue, type RequestPart, ValidationError, type ValidationIssue } from './validation-error';

/** A request of waypost or of Express. */
export type CheckedRequest = IncomingMessage & Partial<Record<RequestPart, unknown>> & { readonly [kRawBody]?: Buffer | undefined; readonly [kBody]?: RequestBody | undefined };

/** A response of waypost or of Express. */
export type CheckedResponse = ServerResponse & Partial<Record<typeof WRITERS[number], unknown>>;

type Next = (error?: unknown) => void;
type Result = StandardSchemaV1.Result<unknown>;

/** A part of a request, and how its schema checks it. */
interface Check {
  readonly part: RequestPart;
  readonly standard: StandardSchemaV1.Props;
}

const NO_ISSUES: readonly StandardSchemaV1.Issue[] = [];

/** Middleware that checks a request, and has its answer checked. */
export interface Guard extends Required<Contracted> {
  (req: CheckedRequest, res: CheckedResponse, next: Next): unknown;
  readonly validates: true;
}

/** Makes the function that holds requests, and their answers, to a contract. @param limitTime Sets the time for an answer to begin, in milliseconds. */
export function guardOf(contract: Contract, limitTime?: (req: Request, timeout: number) => void): Guard {
  const { body, response, errorStatus, timeout } = contract;
  const checks = PARTS.flatMap((part): Check[] => {
    const schema = contract[part];
    return schema ? [{ part, standard: schema['~standard'] }] : [];
  });
  const conclude = (req: CheckedRequest, res: CheckedResponse, next: Next, results: readonly Result[]): unknown => {
    let issues: ValidationIssue[] | undefined;
    for (let index = 0; index < checks.length; index++) {
      for (const issue of (results[index] as Result).issues ?? NO_ISSUES) (issues ??= []).push({ in: (checks[index] as Check).part, path: pathOfIssue(issue), message: issue.message });
    }
    if (issues !== undefined) return new ValidationError(issues, errorStatus);
    for (let index = 0; index < checks.length; index++) replace(req, (checks[index] as Check).part, (results[index] as StandardSchemaV1.SuccessResult<unknown>).value);
    if (response !== undefined) checkAnswer(res, response, next);
    return undefined;
  };
  const validated = (req: CheckedRequest, res: CheckedResponse, next: Next): unknown => {
    let failure: unknown;
    if (timeout !== undefined) limitTime?.(req as Request, timeout);
    if (body && isUnparsed(req)) {
      failure = req[kBody]?.takeError() ?? HttpError.of('UNSUPPORTED_MEDIA_TYPE');
    } else {
      const results: (Result | Promise<Result>)[] = [];
      try {
        for (const { part, standard } of checks) results.push(standard.validate(req[part]));
        if (results.some(isPending)) return Promise.all(results as Promise<Result>[]).then((settled) => conclude(req, res, next, settled), schemaFailed).then(next);
        failure = conclude(req, res, next, results as Result[]);
      } catch (thrown) {
        // Those that are asynchronous go on, and may reject.
        void Promise.allSettled(results as Promise<Result>[]);
        failure = schemaFailed(thrown);
      }
    }
    next(failure);
    return undefined;
  };
  return Object.defineProperties(validated, { [kContract]: { value: contract }, validates: { value: true } }) as Guard;
}

function isPending(result: Result | Promise<Result>): result is Promise<Result> {
  return typeof (result as Partial<Promise<Result>>).then === 'function';
}

/** True for a body that came and that nothing has parsed. An empty one is none. */
function isUnparsed(req: CheckedRequest): boolean {
  return req.body === undefined && hasBody(req) && req[kRawBody]?.length !== 0;
}

/** An error of the schema's own, of which no client reads anything. */
function schemaFailed(cause: unknown): HttpError {
  return HttpError.of('SCHEMA_FAILED', undefined, { cause });
}

function replace(req: CheckedRequest, part: RequestPart, value: unknown): void {
  if (part === 'body') {
    if (req[kBody] === undefined) req.body = value;
    else req[kBody].replace(value);
  }
  if (part === 'params') req.params = { ...req.params as object, ...value as object };
  // Express has a getter without a setter there.
  else if (part === 'query') assign(req, 'query', value);
}

/** Methods that are given data to answer with. `send` hands data on to `json`. */
const WRITERS = ['json', 'jsonp', 'xJson'] as const;

/** Has the first data that is answered with parsed by the schema of its status. */
function checkAnswer(res: CheckedResponse, schemas: ResponseSchemas, next: Next): void {
  const own = WRITERS.filter((name) => typeof res[name] === 'function').map((name) => ({ name, descriptor: Object.getOwnPropertyDescriptor(res, name) }));
  const restore = (): void => {
    for (const { name, descriptor } of own) {
      if (descriptor === undefined) Reflect.deleteProperty(res, name);
      else Object.defineProperty(res, name, descriptor);
    }
  };
  for (const { name } of own) {
    assign(res, name, (data: unknown, ...more: unknown[]) => {
      restore();
      const send = (value: unknown): void => void (res[name] as (...given: unknown[]) => unknown)(value, ...more);
      const schema = schemas[res.statusCode];
      if (schema === undefined) send(data);
      else answer(schema, data, res.statusCode, send, next);
      return res;
    });
  }
}

function answer(schema: Schema, data: unknown, status: number, send: (value: unknown) => void, next: Next): void {
  const take = (result: Result): void => {
    if (result.issues === undefined) send(result.value);
    else next(HttpError.of('INVALID_RESPONSE', `The response of status ${status} is not as its schema says: ${describeIssues(result.issues.map((issue) => ({ path: pathOfIssue(issue), message: issue.message })))}`));
  };
  let result;
  try {
    result = schema['~standard'].validate(data);
  } catch (thrown) {
    next(schemaFailed(thrown));
    return;
  }
  if (isPending(result)) void result.then(take).catch((thrown: unknown) => next(schemaFailed(thrown)));
  else take(result);
}
