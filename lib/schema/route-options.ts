import type { StandardSchemaV1 } from '@standard-schema/spec';

/** A schema of any library with Standard Schema, such as zod 4, valibot or arktype. */
export type Schema<Output = unknown> = StandardSchemaV1<unknown, Output>;

/** A schema as options infer its output: the compiler has less to compare than of {@link Schema}. */
export interface SchemaOf<Output> {
  readonly '~standard': { readonly version: 1; readonly validate: (value: unknown) => unknown; readonly types?: { readonly output: Output } | undefined };
}

/** Schemas of responses by their status. */
export type ResponseSchemas = Readonly<Record<number, Schema>>;

/** The values that handlers may answer with, by the schemas of the responses. */
export type ResponseBody<Replies extends ResponseSchemas> = StandardSchemaV1.InferInput<Replies[keyof Replies & number]>;

/** Parameters of the pattern, with those that a schema has parsed in their place. */
export type ParsedParams<Captured, Parsed> = unknown extends Parsed ? Captured : Omit<Captured, keyof Parsed> & Parsed;

/** Type of a part by its schema, or without one. */
export type ParsedOr<Parsed, Unparsed> = unknown extends Parsed ? Unparsed : Parsed;

/** Schemas of all but the body, for which a route has one option more. */
interface SharedSchemas<Params, Query, Replies extends ResponseSchemas> {
  /** Parses `req.params`; parameters that it leaves out stay as they were. @default none */
  params?: SchemaOf<Params> | undefined;
  /** Parses `req.query`. @default none */
  query?: SchemaOf<Query> | undefined;
  /** Checks `req.headers`, whose names are in lower case; they stay as they were. @default none */
  headers?: Schema | undefined;
  /** Parses the data that `res.json`, `res.xJson` and `res.send` are given, by the status; data that fails is answered by 500. @default none */
  response?: Replies | undefined;
  /** Status of the answer to a request that fails. @default 400 */
  errorStatus?: number | undefined;
}

/** Schemas of the parts of a request, and of its responses. All are optional. */
export interface RequestSchemas<Params = unknown, Query = unknown, Body = unknown, Replies extends ResponseSchemas = ResponseSchemas> extends SharedSchemas<Params, Query, Replies> {
  /** Parses `req.body`; a body of a Content-Type that nothing has parsed is answered by 415. @default none */
  body?: SchemaOf<Body> | undefined;
}

/** Options of one route, given before its handlers. All are optional. */
export interface RouteOptions<Params = unknown, Query = unknown, Body = unknown, Replies extends ResponseSchemas = ResponseSchemas> extends SharedSchemas<Params, Query, Replies> {
  /** Parses `req.body`; `false` leaves the body unread on the stream, whatever its length. @default parsed by its Content-Type, without a schema */
  body?: SchemaOf<Body> | false | undefined;
  /** Longest body that the route takes, in bytes, or text such as `'25mb'`; beyond it 413. @default body.limit */
  bodyLimit?: number | string | undefined;
  /** Time for its handlers to begin an answer, in milliseconds; then 503. 0 is no limit. @default server.handlerTimeout */
  timeout?: number | undefined;
  /** One line on the route, for its OpenAPI document. @default none */
  summary?: string | undefined;
  /** Groups of the route, for its OpenAPI document. @default none */
  tags?: readonly string[] | undefined;
  /** Marks the route as one that clients should leave, for its OpenAPI document. @default false */
  deprecated?: boolean | undefined;
  /** No options by symbols: the compiler tells handlers from options by this. */
  [symbol: symbol]: undefined;
}
