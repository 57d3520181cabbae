import { isRecord, isSchemaTooLong, SCHEMA_LIMIT_BYTES } from '../../core/json.ts';
import { type AnswerFormat, invalidValue, unsupportedValue, wrongType } from '../request.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** A model gives the value in the arguments of a call, which are an object. */
export const parseObjectSchema = (schema: unknown, at: string): JsonObject => {
  const refused = (expected: string) => invalidValue(at, `expected ${expected}`);
  if (!isRecord(schema) || schema.type !== 'object') throw refused('a JSON Schema with "type": "object"');
  if (isSchemaTooLong(schema)) throw refused(`a JSON Schema of at most ${SCHEMA_LIMIT_BYTES} bytes`);
  return schema;
};

/** `response_format` of chat completions, or `text.format` of responses; undefined for a text. `at` is its path in the body. */
export const parseTextFormat = (format: unknown, at: string): AnswerFormat | undefined => {
  if (format === undefined || format === null) return undefined;
  if (!isRecord(format)) throw wrongType(at, 'Object');
  switch (format.type) {
    case 'text':
      return undefined;
    case 'json_object':
      return { kind: 'text', schema: { type: 'object' }, schemaAt: at };
    case 'json_schema': {
      // Chat completions have the schema one level deeper than responses.
      const isNested = at === 'response_format' || isRecord(format.json_schema);
      const schemaAt = isNested ? `${at}.json_schema.schema` : `${at}.schema`;
      const { schema } = isRecord(format.json_schema) ? format.json_schema : format;
      return { kind: 'text', schema: parseObjectSchema(schema, schemaAt), schemaAt };
    }
    default:
      throw unsupportedValue(`${at}.type`, 'expected text, json_schema or json_object');
  }
};
