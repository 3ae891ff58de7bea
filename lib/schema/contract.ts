import { describe, type Field, type Fields, flag, bytes, isPlainObject, matching, milliseconds, optional, otherwise, refuse, text } from '../options/field';
import { nearestOf } from '../options/hint';
import type { Contract } from './contracted';
import { propertiesOf } from './json-schema';
import type { ResponseSchemas, Schema } from './route-options';
import { PARTS } from './validation-error';

const SCHEMA = 'a schema with "~standard", as those of zod 4, valibot and arktype have it';

const schema: Field<Schema> = matching(SCHEMA, isSchema, describeSchema);

const response: Field<ResponseSchemas> = (given, name, warnings) => {
  if (isSchema(given)) return refuse(name, 'schemas by status', 'one schema; write { 200: schema }');
  if (!isPlainObject(given)) return refuse(name, 'schemas by status, such as { 200: schema }', describeSchema(given));
  for (const [status, each] of Object.entries(given)) {
    if (!/^[1-5]\d\d$/.test(status)) refuse(name, 'schemas by status, such as { 200: schema }', `the status ${describe(status)}`);
    schema(each, `${name}[${status}]`, warnings);
  }
  return given as ResponseSchemas;
};

const SCHEMAS = {
  params: optional(schema),
  query: optional(schema),
  headers: optional(schema),
  body: optional(schema),
  response: optional(response),
  errorStatus: otherwise(400, matching<number>('a status from 400 to 499', (given) => Number.isInteger(given) && Number(given) >= 400 && Number(given) < 500)),
};

const ROUTE: Fields<Contract> = {
  ...SCHEMAS,
  body: (given, name, warnings) => (given === false ? false : optional(schema)(given, name, warnings)),
  bodyLimit: optional(bytes),
  timeout: optional(milliseconds),
  summary: optional(text),
  tags: optional(matching<readonly string[]>('an array of strings', (given) => Array.isArray(given) && given.every((tag) => typeof tag === 'string'))),
  deprecated: otherwise(false, flag),
};

/**
 * Reads the options of a route, or of `validate`.
 * @param where The registration, for the message.
 * @throws TypeError that names the option, what was given, and what to write instead.
 */
export function readContract(given: unknown, where: string, isRoute: boolean): Contract {
  const fields: Partial<Fields<Contract>> = isRoute ? ROUTE : SCHEMAS;
  if (isSchema(given)) throw new TypeError(`${where}: got a schema where options are expected; write { body: schema }, or params, query, headers or response for body`);
  if (!isPlainObject(given)) return refuse(`${where}: the first argument`, 'an object such as { body: schema }', describe(given));
  const contract: Record<string, unknown> = { deprecated: false };
  for (const key of Object.keys(given)) if (!Object.hasOwn(fields, key)) throw new TypeError(`${where}: unknown option ${JSON.stringify(key)}${hintFor(key, Object.keys(fields), isRoute)}`);
  for (const [key, field] of Object.entries(fields) as [string, Field<unknown>][]) contract[key] = field(Object.hasOwn(given, key) ? given[key] : undefined, `${where}: ${key}`, []);
  return Object.freeze(contract) as unknown as Contract;
}

function hintFor(key: string, known: readonly string[], isRoute: boolean): string {
  if (key === 'schema' || key === 'preHandler' || key === 'config') return ': options of a route are not Fastify\'s; write schemas as { body, query, params, headers, response }, and functions behind them';
  if (!isRoute && Object.hasOwn(ROUTE, key)) return `, which is one of a route: write app.post(path, { ${key}: … }, handler)`;
  const { name, edits } = nearestOf(key, known);
  return edits <= 2 ? `; did you mean ${JSON.stringify(name)}?` : `; the options are ${known.join(', ')}`;
}

/**
 * Checks the contracts among the handlers of one registration against its route.
 * @param method In upper case; null for every method.
 * @param names Parameters of the pattern; null where mounts may add others.
 * @throws TypeError for a body that can't come, two schemas of one part, and parameters that the pattern lacks.
 */
export function checkContracts(contracts: readonly Contract[], where: string, method: string | null, names: readonly string[] | null): void {
  for (const part of [...PARTS, 'response'] as const) {
    const given = contracts.filter((contract) => contract[part] !== undefined);
    if (given.length > 1) throw new TypeError(`${where}: ${given.length} handlers have a schema for ${part}; write one of them`);
    if (given.length === 1 && part === 'body' && (method === 'GET' || method === 'HEAD')) throw new TypeError(`${where}: a ${method} request has no body; write a schema for query, or register the route by post`);
  }
  for (const { params } of contracts) {
    const unknown = params === undefined || names === null ? [] : unknownParams(params, names);
    if (unknown.length > 0) throw new TypeError(`${where}: ${lacking(unknown)}`);
  }
}

/** Names of a schema for parameters that are none of the pattern's. */
export function unknownParams(params: Schema, names: readonly string[]): string[] {
  const asked = propertiesOf(params);
  if (asked === undefined) return names.length === 0 ? ['any'] : [];
  return asked.filter((name) => !names.includes(name));
}

/** Says which parameters a pattern lacks. */
export function lacking(unknown: readonly string[]): string {
  const [first] = unknown as [string];
  return first === 'any' ? 'params has a schema, but the path has no parameter; write one, such as :id' : `params has a schema for ${unknown.map((name) => JSON.stringify(name)).join(', ')}, which the path lacks; write :${first} in the path`;
}

/** True for a schema by Standard Schema: an object, or a function with properties. */
export function isSchema(given: unknown): given is Schema {
  if ((typeof given !== 'object' && typeof given !== 'function') || given === null) return false;
  const standard = (given as { readonly '~standard'?: { readonly validate?: unknown } })['~standard'];
  return typeof standard === 'object' && typeof standard.validate === 'function';
}

function describeSchema(given: unknown): string {
  return typeof given === 'object' && given !== null && !Array.isArray(given) ? `an object without it: { ${Object.keys(given).slice(0, 5).join(', ')} }; write such as z.object({ … }) around it` : describe(given);
}
