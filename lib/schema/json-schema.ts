import type { StandardJSONSchemaV1 } from '@standard-schema/spec';
import type { Schema } from './route-options';

/** A schema as JSON Schema. */
export type JsonSchema = Record<string, unknown>;

/** Direction of the data that a schema takes or gives. */
export type Direction = 'input' | 'output';

/**
 * A schema as JSON Schema 2020-12, by Standard JSON Schema; undefined for a library without it.
 * @throws Error of the library for a schema that JSON Schema can't say.
 */
export function toJsonSchema(schema: Schema, direction: Direction): JsonSchema | undefined {
  const { jsonSchema } = (schema as Schema & Partial<StandardJSONSchemaV1>)['~standard'] as Partial<StandardJSONSchemaV1.Props>;
  return jsonSchema?.[direction]({ target: 'draft-2020-12' });
}

/** Names of the properties that a schema speaks of; undefined where it does not say. */
export function propertiesOf(schema: Schema): string[] | undefined {
  try {
    const properties = toJsonSchema(schema, 'input')?.['properties'];
    return typeof properties === 'object' && properties !== null ? Object.keys(properties) : undefined;
  } catch {
    return undefined;
  }
}
