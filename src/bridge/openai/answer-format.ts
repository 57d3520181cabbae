import { isRecord, isSchemaTooLong, SCHEMA_LIMIT_BYTES } from '../../core/json.ts';
import { type AnswerFormat, badInput } from '../request.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const unsupported = (at: string, why: string) =>
  badInput('unsupported_value', at, `Unsupported value at '${at}': ${why}`);

/** A model gives the value in the arguments of a call, which are an object. */
const parseSchema = (schema: unknown, at: string): JsonObject => {
  const refused = (expected: string) => badInput('invalid_value', at, `Invalid value at '${at}': expected ${expected}`);
  if (!isRecord(schema) || schema.type !== 'object') throw refused('a JSON Schema with "type": "object"');
  if (isSchemaTooLong(schema)) throw refused(`a JSON Schema of at most ${SCHEMA_LIMIT_BYTES} bytes`);
  return schema;
};

/** `response_format` of chat completions, or `text.format` of responses; undefined for a text. `at` is its path in the body. */
export const parseTextFormat = (format: unknown, at: string): AnswerFormat | undefined => {
  if (format === undefined || format === null) return undefined;
  if (!isRecord(format)) throw badInput('invalid_type', at, `Invalid type at '${at}': expected Object`);
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
      return { kind: 'text', schema: parseSchema(schema, schemaAt), schemaAt };
    }
    default:
      throw unsupported(`${at}.type`, 'expected text, json_schema or json_object');
  }
};

/** The parameters of a function that names none. */
const EMPTY = { type: 'object', properties: {} };

type ClientFunction = { readonly name: string; readonly schema: unknown; readonly at: string };

/** The functions among a client's tools. Chat completions have them one level deeper than responses. */
const functionsIn = (tools: unknown): readonly ClientFunction[] =>
  (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, index) => {
    if (!isRecord(tool) || tool.type !== 'function') return [];
    const nested = isRecord(tool.function) ? tool.function : undefined;
    const { name, parameters } = nested ?? tool;
    const at = `tools[${index}]${nested === undefined ? '' : '.function'}.parameters`;
    return typeof name === 'string' ? [{ name, schema: parameters, at }] : [];
  });

/** The name of the function that `tool_choice` forces; null where it forces any, undefined where it forces none. */
const forcedName = (choice: unknown): string | null | undefined => {
  if (choice === undefined || choice === null || choice === 'none' || choice === 'auto') return undefined;
  if (choice === 'required') return null;
  if (!isRecord(choice)) throw unsupported('tool_choice', 'expected none, auto, required or a function');
  if (choice.type === 'allowed_tools') {
    const { mode } = isRecord(choice.allowed_tools) ? choice.allowed_tools : choice;
    return mode === 'required' ? null : undefined;
  }
  const { name } = isRecord(choice.function) ? choice.function : choice;
  if (choice.type === 'function' && typeof name === 'string') return name;
  throw unsupported('tool_choice', 'only a call of a function can be forced');
};

/**
 * The call of a client's function that `tool_choice` forces, as libraries for structured outputs do: its arguments are the answer.
 * Undefined where no call is forced. Which of several functions to call is not decided here.
 */
export const parseForcedCall = ({ tools, tool_choice }: JsonObject): AnswerFormat | undefined => {
  const name = forcedName(tool_choice);
  if (name === undefined) return undefined;
  const functions = functionsIn(tools);
  const found = name === null && functions.length === 1 ? functions[0] : functions.find((one) => one.name === name);
  if (found === undefined)
    throw unsupported(
      'tool_choice',
      functions.length > 1 && name === null
        ? 'a call can be forced of one function, not of several'
        : 'there is no such function in tools',
    );
  const isWithoutParameters = isRecord(found.schema) && Object.keys(found.schema).length === 0;
  const schema = isWithoutParameters ? EMPTY : (found.schema ?? EMPTY);
  return { kind: 'call', name: found.name, schema: parseSchema(schema, found.at), schemaAt: found.at };
};
