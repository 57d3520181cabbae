import { isRecord, isSchemaTooLong, SCHEMA_LIMIT_BYTES } from '../../core/json.ts';
import { type AnswerFormat, badInput } from '../request.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const unsupported = (at: string, why: string) =>
  badInput('unsupported_value', at, `Unsupported value at '${at}': ${why}`);

/** The parameters of a function that names none. */
const EMPTY = { type: 'object', properties: {} };

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

type NamedFunction = {
  readonly name: string;
  readonly description: unknown;
  readonly schema: unknown;
  /** Its path in the body, and that of its schema. */
  readonly at: string;
  readonly schemaAt: string;
};

/** The functions among a client's tools. Chat completions have them one level deeper than responses. */
export const clientFunctionsIn = (tools: unknown): readonly NamedFunction[] =>
  (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, index) => {
    if (!isRecord(tool) || tool.type !== 'function') return [];
    const nested = isRecord(tool.function) ? tool.function : undefined;
    const { name, description, parameters } = nested ?? tool;
    const at = `tools[${index}]${nested === undefined ? '' : '.function'}`;
    return typeof name === 'string'
      ? [{ name, description, schema: parameters, at, schemaAt: `${at}.parameters` }]
      : [];
  });

/** The schema of a function's arguments. Libraries leave out what says that they are an object. */
export const parseFunctionSchema = (schema: unknown, at: string): JsonObject => {
  if (schema === undefined || schema === null) return EMPTY;
  if (!isRecord(schema)) return parseSchema(schema, at);
  if (Object.keys(schema).length === 0) return EMPTY;
  return parseSchema(schema.type === undefined ? { type: 'object', ...schema } : schema, at);
};

/** What `tool_choice` asks for. `name`: the one function that has to be called; `allowed`: those that may be. */
type ToolChoice = {
  readonly mode: 'none' | 'auto' | 'required';
  readonly name?: string;
  readonly allowed?: readonly string[];
};

const allowedNames = (tools: unknown): readonly string[] =>
  (Array.isArray(tools) ? tools : []).flatMap((tool: unknown) => {
    if (!isRecord(tool) || tool.type !== 'function') return [];
    const { name } = isRecord(tool.function) ? tool.function : tool;
    return typeof name === 'string' ? [name] : [];
  });

/** Reads `tool_choice`. Faults with `bad-input`. */
export const toolChoiceOf = (choice: unknown): ToolChoice => {
  if (choice === undefined || choice === null) return { mode: 'auto' };
  if (choice === 'none' || choice === 'auto' || choice === 'required') return { mode: choice };
  if (!isRecord(choice)) throw unsupported('tool_choice', 'expected none, auto, required or a function');
  if (choice.type === 'allowed_tools') {
    const { mode, tools } = isRecord(choice.allowed_tools) ? choice.allowed_tools : choice;
    const allowed = allowedNames(tools);
    return { mode: mode === 'required' ? 'required' : 'auto', ...(allowed.length === 0 ? {} : { allowed }) };
  }
  const { name } = isRecord(choice.function) ? choice.function : choice;
  if (choice.type === 'function' && typeof name === 'string') return { mode: 'required', name };
  throw unsupported('tool_choice', 'only a call of a function can be forced');
};

/**
 * The call of one function of the client that `tool_choice` forces, as libraries for structured outputs do: its arguments are the
 * answer. Undefined where no call is forced, or one of several functions.
 */
export const parseForcedCall = ({ tools, tool_choice }: JsonObject): AnswerFormat | undefined => {
  const { mode, name, allowed } = toolChoiceOf(tool_choice);
  if (mode !== 'required') return undefined;
  const functions = clientFunctionsIn(tools).filter((one) => allowed?.includes(one.name) ?? true);
  if (name === undefined && functions.length > 1) return undefined;
  const found = name === undefined ? functions[0] : functions.find((one) => one.name === name);
  if (found === undefined) throw unsupported('tool_choice', 'there is no such function in tools');
  return {
    kind: 'call',
    name: found.name,
    schema: parseFunctionSchema(found.schema, found.schemaAt),
    schemaAt: found.schemaAt,
  };
};
