import { type Direction, type JsonSchema, toJsonSchema } from '../schema/json-schema';
import type { Schema } from '../schema/route-options';

/** Makes JSON Schema of a schema; undefined where it can't. */
export type SchemaConverter = (schema: Schema, direction: Direction) => JsonSchema | undefined;

const ERROR = { type: 'object', properties: { error: { type: 'string' }, message: { type: 'string' } }, required: ['error', 'message'] };
const PROBLEM = {
  type: 'object',
  properties: { type: { type: 'string' }, title: { type: 'string' }, status: { type: 'integer' }, detail: { type: 'string' }, instance: { type: 'string' } },
  required: ['type', 'title', 'status'],
};
const ISSUES = {
  type: 'array',
  items: {
    type: 'object',
    properties: { in: { enum: ['params', 'query', 'headers', 'body'] }, path: { type: 'array', items: { type: ['string', 'integer'] } }, message: { type: 'string' } },
    required: ['in', 'path', 'message'],
  },
};

/** A schema of an object. */
export type ObjectSchema = JsonSchema & { readonly properties?: Record<string, JsonSchema>; readonly required?: readonly string[] };

/** Schemas that a schema refers to within itself. */
interface Within {
  readonly $defs?: Record<string, JsonSchema>;
  readonly definitions?: Record<string, JsonSchema>;
}

/** Start of a reference to a schema. */
const SCHEMAS = '#/components/schemas/';

/** The parts of a document that its operations refer to. */
export class Components {
  readonly schemas: Record<string, JsonSchema> = {};
  readonly securitySchemes: Record<string, object> = {};
  readonly #convert: SchemaConverter | undefined;
  readonly #warn: (text: string) => void;
  readonly #known = { input: new Map<Schema, JsonSchema>(), output: new Map<Schema, JsonSchema>() };
  readonly #mediaType: string;
  #count = 0;

  /** @param isProblem True where errors are answered as problem details. */
  constructor(convert: SchemaConverter | undefined, isProblem: boolean, warn: (text: string) => void) {
    this.#convert = convert;
    this.#warn = warn;
    this.#mediaType = isProblem ? 'application/problem+json' : 'application/json';
    const error = isProblem ? PROBLEM : ERROR;
    this.schemas['Error'] = error;
    this.schemas['ValidationError'] = { ...error, properties: { ...error.properties, errors: ISSUES } };
  }

  /** The response of a default error answer. */
  error(description: string, isOfValidation = false): object {
    return { description, content: { [this.#mediaType]: { schema: { $ref: `${SCHEMAS}${isOfValidation ? 'ValidationError' : 'Error'}` } } } };
  }

  /** A schema as the document has it; an empty one, with a warning, where the library can't say it. */
  schema(schema: Schema, direction: Direction, where: string): JsonSchema {
    const known = this.#known[direction].get(schema);
    if (known !== undefined) return known;
    const made = this.#embed(this.#converted(schema, direction, where));
    this.#known[direction].set(schema, made);
    return made;
  }

  #converted(schema: Schema, direction: Direction, where: string): JsonSchema {
    try {
      const made = toJsonSchema(schema, direction) ?? this.#convert?.(schema, direction);
      if (made !== undefined) return made;
      this.#warn(`${where}: its library has no Standard JSON Schema; give openapi() a function toJsonSchema`);
    } catch (error) {
      this.#warn(`${where}: its library can't write it as JSON Schema: ${String(error)}`);
    }
    return {};
  }

  /** The named fields of a schema for parameters; none, with a warning, for a schema of another kind. */
  fields(schema: Schema, where: string): ObjectSchema {
    const made = this.resolve(this.schema(schema, 'input', where)) as ObjectSchema;
    if (made.properties === undefined && Object.keys(made).length > 0) this.#warn(`${where} has no named fields: the OpenAPI document leaves them out`);
    return made;
  }

  /** The schema that a reference to one of the document's leads to; any other is returned as it is. */
  resolve(schema: JsonSchema, seen = new Set<JsonSchema>()): JsonSchema {
    const { $ref } = schema;
    const target = typeof $ref === 'string' ? this.schemas[$ref.slice(SCHEMAS.length)] : undefined;
    return target === undefined || seen.has(target) ? schema : this.resolve(target, seen.add(target));
  }

  /** Moves what a schema refers to within itself to the document's schemas. */
  #embed({ $schema: _, ...schema }: JsonSchema): JsonSchema {
    const text = JSON.stringify(schema);
    if (!text.includes('"$ref":"#')) return schema;
    const name = `Schema${++this.#count}`;
    const { $defs, definitions } = schema as Within;
    // OpenAPI allows names of ASCII letters, digits and `._-`.
    const names = new Map(Object.keys({ ...definitions, ...$defs }).map((key, index) => [key, /^[\w.-]+$/.test(key) ? `${name}_${key}` : `${name}.${index}_${key.replace(/[^\w.-]/g, '_')}`]));
    const moved = JSON.parse(text, (key, value: unknown) => (
      key === '$ref' && typeof value === 'string' ? value.replace(/^#(?:\/(?:\$defs|definitions)\/([^/]*))?/, (_, part?: string) => SCHEMAS + (part === undefined ? name : names.get(keyOf(part)) ?? part)) : value
    )) as Within & JsonSchema;
    const { $defs: own, definitions: older, ...root } = moved;
    for (const [key, value] of Object.entries({ ...older, ...own })) this.schemas[names.get(key) as string] = value;
    this.schemas[name] = root;
    return { $ref: `${SCHEMAS}${name}` };
  }

  /** Names a security scheme; an equal one keeps its name. */
  scheme(name: string, scheme: object): string {
    const text = JSON.stringify(scheme);
    let free = name;
    while (this.securitySchemes[free] !== undefined && JSON.stringify(this.securitySchemes[free]) !== text) free += '_';
    this.securitySchemes[free] = scheme;
    return free;
  }
}

/** The key that a part of a reference names (RFC 6901 section 6). */
function keyOf(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
  } catch {
    return part;
  }
}
