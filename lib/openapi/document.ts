import { statusText } from '../errors';
import type { ResolvedOptions, ResolvedSignature } from '../options/resolved';
import type { Registered } from '../routing/listing';
import type { Segment } from '../routing/patterns/segment';
import { type Contract, type Contracted, kContract } from '../schema/contracted';
import type { JsonSchema } from '../schema/json-schema';
import type { Schema } from '../schema/route-options';
import type { SignatureHook } from '../signature/hook';
import { Components, type ObjectSchema, type SchemaConverter } from './components';
import { type PathTemplate, templateOf } from './path-template';

/** Options of `app.openapi`. */
export interface OpenApiOptions {
  /** Name and version of the interface, and what else OpenAPI's Info object has. */
  info: {
    /** Name of the interface. */
    title: string;
    /** Version of the interface. */
    version: string;
    [field: string]: unknown;
  };
  /** Addresses that it is served at. @default none: the address of the document itself */
  servers?: readonly {
    /** Address, absolute or relative to the document's own. */
    url: string;
    /** Purpose of the address. */
    description?: string;
    [field: string]: unknown;
  }[] | undefined;
  /** Makes JSON Schema for a library without Standard JSON Schema, such as valibot. @default none: such schemas are left empty, with a warning */
  toJsonSchema?: SchemaConverter | undefined;
}

/** An OpenAPI 3.1 document. */
export interface OpenApiDocument {
  /** Version of OpenAPI. */
  openapi: '3.1.1';
  /** As given. */
  info: OpenApiOptions['info'];
  /** As given. */
  servers?: OpenApiOptions['servers'];
  /** Operations by path and method. */
  paths: Record<string, Record<string, Record<string, unknown>>>;
  /** Objects that operations refer to. */
  components: {
    /** Schemas by name. */
    schemas: Record<string, Record<string, unknown>>;
    /** Signatures and webhooks by name. */
    securitySchemes: Record<string, object>;
  };
}

/** An application whose routes are described, and its place in others. */
export interface DescribedApplication {
  readonly registered: readonly Registered[];
  readonly options: ResolvedOptions;
  readonly hooks: readonly SignatureHook[];
  /** The application around it, and the mount path's segments there; null for the outermost. */
  readonly outer: { readonly application: DescribedApplication; readonly segments: readonly Segment[] } | null;
}

/** Methods that OpenAPI knows and a route of every method is shown with. */
const COMMON = ['get', 'put', 'post', 'delete', 'patch'];
const METHODS = new Set([...COMMON, 'head', 'options', 'trace']);

/** Describes the routes of an application and of those that are mounted in it. @param warn Told of what is left out. */
export function openApiDocument({ info, servers, toJsonSchema }: OpenApiOptions, applications: readonly DescribedApplication[], warn: (text: string) => void): OpenApiDocument {
  const isProblem = applications[0]?.options.errors !== undefined;
  const components = new Components(toJsonSchema, isProblem, warn);
  const paths: OpenApiDocument['paths'] = {};
  /** Templates by their structure: names of parameters make no other path. */
  const templates = new Map<string, PathTemplate>();
  for (const application of applications) {
    for (const { layer: { route }, patterns } of application.registered) {
      if (route === undefined) continue;
      const named = Object.keys(route.methods).filter((method) => method !== '_all');
      for (const method of named.length === 0 ? COMMON : named) {
        for (const { segments, text } of patterns) {
          const own = METHODS.has(method) ? templateOf([...segmentsAround(application), ...segments]) : undefined;
          if (own === undefined) {
            warn(`The route ${method.toUpperCase()} ${text} is left out of the OpenAPI document, which has no word for ${METHODS.has(method) ? 'such a path' : 'its method'}`);
            continue;
          }
          const structure = own.path.replace(/\{[^}]*\}/g, '{}');
          const template = templates.get(structure) ?? own;
          templates.set(structure, template);
          const operations = (paths[template.path] ??= {});
          const contracts = route.stack.flatMap((each) => (each.method === undefined || each.method === method ? (each.origin as Contracted)[kContract] ?? [] : []));
          operations[method] ??= operation(application, { method, own, template, beneath: segments }, contracts, components);
        }
      }
    }
  }
  return { openapi: '3.1.1', info, ...(servers && { servers }), paths, components: { schemas: components.schemas, securitySchemes: components.securitySchemes } };
}

/** An operation's place. */
interface Place {
  readonly method: string;
  /** By the names of its own pattern, in the same order as in the document. */
  readonly own: PathTemplate;
  readonly template: PathTemplate;
  /** Segments as its application sees them. */
  readonly beneath: readonly Segment[];
}

function operation(application: DescribedApplication, place: Place, contracts: readonly Contract[], components: Components): Record<string, unknown> {
  const { method, own, template, beneath } = place;
  const find = <Name extends keyof Contract>(name: Name): Contract[Name] | undefined => contracts.find((contract) => contract[name] !== undefined)?.[name];
  const where = (part: string): string => `The schema for ${part} of ${method.toUpperCase()} ${own.path}`;
  const [params, query, headers, body] = [find('params'), find('query'), find('headers'), find('body')];
  const fields = (schema: Contract['params'], part: string): ObjectSchema => (schema === undefined ? {} : components.fields(schema, where(part)));
  const spoken = fields(params, 'params').properties ?? {};
  const parameters = own.params.map(({ name, pattern }, index) => (
    { name: template.params[index]?.name ?? name, in: 'path', required: true, schema: spoken[name] ?? { type: 'string', ...(pattern !== undefined && { pattern }) } }
  ));
  for (const [part, schema] of [['query', query], ['header', headers]] as const) {
    const { properties = {}, required = [] } = fields(schema, part);
    for (const [name, each] of Object.entries(properties)) parameters.push({ name, in: part, required: required.includes(name), schema: each });
  }
  const passed = hooksFor(application, method, beneath);
  const always = passed.filter(({ signature }) => signature?.webBotAuth?.unsigned !== 'accept');
  const required = (checks: readonly Passed[]): object => Object.fromEntries(checks.flatMap((each) => schemesOf(each, components)).map((name) => [name, []]));
  if (body && always.some(({ signature }) => signature?.version === 2 && signature.includeBody)) {
    parameters.push({ name: 'Content-Digest', in: 'header', required: true, schema: { type: 'string' } });
  }
  const responses: Record<string, object> = {};
  for (const [status, schema] of Object.entries(find('response') ?? {})) {
    responses[status] = { description: statusText(Number(status)), content: { 'application/json': { schema: components.schema(schema, 'output', where(`the response of status ${status}`)) } } };
  }
  if (Object.keys(responses).length === 0) responses['default'] = { description: 'The answer of the route' };
  const addError = (status: number, isOfValidation = false): void => void (responses[status] ??= components.error(statusText(status), isOfValidation));
  const isChecked = [params, query, headers, body].some(Boolean);
  if (isChecked) addError(contracts.find(({ errorStatus }) => errorStatus !== 400)?.errorStatus ?? 400, true);
  // Malformed JSON, and malformed encoding of a parameter.
  if (body || own.params.length > 0) addError(400);
  if (passed.length > 0) addError(401);
  if (body || find('bodyLimit') !== undefined) addError(413);
  if (body) addError(415);
  if ((find('timeout') ?? application.options.server.handlerTimeout) > 0) addError(503);
  return {
    ...(find('summary') !== undefined && { summary: find('summary') }),
    ...(find('tags') !== undefined && { tags: find('tags') }),
    ...(contracts.some(({ deprecated }) => deprecated) && { deprecated: true }),
    parameters,
    ...(body && { requestBody: { required: !isOptional(body), content: contentOf(components.schema(body, 'input', where('body')), isParsed(application), components) } }),
    responses,
    ...(passed.length > 0 && { security: [required(passed), ...(always.length < passed.length ? [required(always)] : [])] }),
  };
}

function segmentsAround({ outer }: DescribedApplication): readonly Segment[] {
  return outer === null ? [] : [...segmentsAround(outer.application), ...outer.segments];
}

/** True where createServer parses bodies by their Content-Type. */
function isParsed({ options, outer }: DescribedApplication): boolean {
  return options.body.parse || (outer !== null && isParsed(outer.application));
}

/** Content of a request body by its types: JSON, and a form or text where they fit the schema. */
function contentOf(schema: JsonSchema, isParsed: boolean, components: Components): Record<string, object> {
  const isText = (each: JsonSchema): boolean => components.resolve(each)['type'] === 'string';
  const { type: kind, properties = {} } = components.resolve(schema) as ObjectSchema;
  const fields = Object.values(properties);
  const isForm = kind === 'object' && fields.length > 0 && fields.every(isText);
  const others = !isParsed ? [] : isText(schema) ? ['text/plain'] : isForm ? ['application/x-www-form-urlencoded'] : [];
  return Object.fromEntries(['application/json', ...others].map((type) => [type, { schema }]));
}

/** True for a schema that takes a missing body, and says so at once. */
function isOptional(schema: Schema): boolean {
  try {
    const result = schema['~standard'].validate(undefined);
    if (!(result instanceof Promise)) return result.issues === undefined;
    result.catch(() => undefined);
  } catch {
    // A function of the schema that has no answer for undefined.
  }
  return false;
}

/** A check of signatures, and the options of it where it is of requests. */
interface Passed {
  readonly hook: SignatureHook;
  readonly signature: ResolvedSignature | undefined;
  readonly preset: string | undefined;
}

/** The checks that a request must pass, those of the outermost application first. */
function hooksFor({ hooks, options: { security: { requestSignature, webhooks } }, outer }: DescribedApplication, method: string, segments: readonly Segment[]): Passed[] {
  const all: Passed[] = hooks.map((hook, index) => {
    const signature = index === 0 ? requestSignature : undefined;
    return { hook, signature, preset: webhooks[index - (requestSignature === undefined ? 0 : 1)]?.preset };
  });
  const own = all.filter(({ hook: { scope } }) => scope.requiresSome(method.toUpperCase(), segments));
  return outer === null ? own : [...hooksFor(outer.application, method, [...outer.segments, ...segments]), ...own];
}

/** Names of the security schemes of a check, all of which a request needs. */
function schemesOf({ hook, signature, preset }: Passed, components: Components): string[] {
  const headers = signature === undefined ? [[`${preset}Webhook`, hook.headerName, `Signature of a webhook as ${preset} signs it`] as const] : signatureHeaders(signature);
  return headers.map(([name, header, description]) => components.scheme(name, { type: 'apiKey', in: 'header', name: header, description }));
}

function signatureHeaders({ version, algorithm, headerName, timestampHeaderName, keyIdHeaderName, secret, keys, webBotAuth }: ResolvedSignature): [name: string, header: string, description: string][] {
  if (version === 2) return [['signature', 'Signature', `HTTP Message Signature (RFC 9421), by ${(keys ?? webBotAuth) === undefined ? 'HMAC' : 'a private key'}`], ['signatureInput', 'Signature-Input', 'Components and parameters of the signature (RFC 9421)']];
  return [
    ['requestSignature', headerName, `HMAC of the request by ${algorithm}, in hexadecimal; see signRequest and signedFetch of waypost`],
    ['requestTimestamp', timestampHeaderName, 'Time of the signature, in milliseconds since the epoch'],
    ...(typeof secret === 'function' ? [['requestKeyId', keyIdHeaderName, 'Id of the client\'s key'] as [string, string, string]] : []),
  ];
}
