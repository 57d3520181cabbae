import { isRecord, parseJsonValue } from '../../core/json.ts';
import { invalidValue, type RequestTool, type RequestTools, unsupportedValue, wrongType } from '../request.ts';
import { parseObjectSchema } from './answer-format.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const TOOLS_LIMIT = 128;
/** As the agent server has it. */
const DESCRIPTION_CHARS = 16_000;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;
/** The parameters of a function that names none. */
const EMPTY = { type: 'object', properties: {} };

const invalid = (at: string, expected: string) => invalidValue(at, `expected ${expected}`);
type NamedTool = {
  readonly name: string;
  readonly members: JsonObject;
  readonly isCustom: boolean;
  /** Its path in the body. */
  readonly at: string;
};

/** A function or custom tool; undefined for any other. Chat completions have its members one level deeper than responses. */
const readTool = (tool: unknown, place: string): NamedTool | undefined => {
  if (!isRecord(tool) || (tool.type !== 'function' && tool.type !== 'custom')) return undefined;
  const { type } = tool;
  const nested = tool[type];
  const members = isRecord(nested) ? nested : tool;
  const at = isRecord(nested) ? `${place}.${type}` : place;
  return typeof members.name === 'string'
    ? { name: members.name, members, isCustom: type === 'custom', at }
    : undefined;
};

const namedToolsIn = (tools: unknown): readonly NamedTool[] =>
  (Array.isArray(tools) ? tools : []).flatMap((tool: unknown, index) => readTool(tool, `tools[${index}]`) ?? []);

/** The schema of a function's arguments. Libraries leave out what says that they are an object. */
const parseFunctionSchema = (schema: unknown, at: string): JsonObject => {
  if (schema === undefined || schema === null) return EMPTY;
  if (!isRecord(schema)) return parseObjectSchema(schema, at);
  if (Object.keys(schema).length === 0) return EMPTY;
  return parseObjectSchema(schema.type === undefined ? { type: 'object', ...schema } : schema, at);
};

/** The grammar of a custom tool's text. Chat completions have its members one level deeper than responses. */
const grammarIn = ({ format }: JsonObject): JsonObject | undefined => {
  if (!isRecord(format) || format.type !== 'grammar') return undefined;
  return isRecord(format.grammar) ? format.grammar : format;
};

/** A custom tool is a function with one text. Its grammar is there for the model to read, and nothing else holds it to that. */
const textSchema = (members: JsonObject, at: string): JsonObject => {
  const grammar = grammarIn(members);
  if (grammar !== undefined && typeof grammar.definition !== 'string')
    throw invalid(`${at}.format`, 'a grammar with a definition');
  const rules = grammar === undefined ? '' : `, which fits this ${grammar.syntax} grammar:\n${grammar.definition}`;
  const input = { type: 'string', description: `The whole input of the tool, as free text${rules}` };
  const schema = { type: 'object', properties: { input }, required: ['input'], additionalProperties: false };
  return parseObjectSchema(schema, `${at}.format`);
};

const parseTool = ({ name, members, isCustom, at }: NamedTool): RequestTool => {
  if (!NAME.test(name)) throw invalid(`${at}.name`, '1 to 64 letters, digits, _ and -');
  const { description, parameters } = members;
  const text = typeof description === 'string' ? description.trim() : '';
  if (text.length > DESCRIPTION_CHARS) throw invalid(`${at}.description`, `at most ${DESCRIPTION_CHARS} characters`);
  const inputSchema = isCustom ? textSchema(members, at) : parseFunctionSchema(parameters, `${at}.parameters`);
  return { name, ...(text === '' ? {} : { description: text }), inputSchema, at, isCustom };
};

const parseTools = (tools: unknown): readonly RequestTool[] => {
  if (tools !== undefined && tools !== null && !Array.isArray(tools)) throw wrongType('tools', 'an array');
  const named = namedToolsIn(tools);
  if (named.length > TOOLS_LIMIT) throw invalid('tools', `at most ${TOOLS_LIMIT} functions`);
  const names = new Set<string>();
  return named.map((tool) => {
    const parsed = parseTool(tool);
    if (names.has(parsed.name)) throw invalid(`${parsed.at}.name`, 'a name that no other function has');
    names.add(parsed.name);
    return parsed;
  });
};

/** What `tool_choice` asks for. `name`: the one that has to be called; `allowed`: those that may be. */
type ToolChoice = {
  readonly mode: 'none' | 'auto' | 'required';
  readonly name?: string;
  readonly allowed?: readonly string[];
};

const toolChoiceOf = (choice: unknown): ToolChoice => {
  if (choice === undefined || choice === null) return { mode: 'auto' };
  if (choice === 'none' || choice === 'auto' || choice === 'required') return { mode: choice };
  if (!isRecord(choice)) throw unsupportedValue('tool_choice', 'expected none, auto, required or a function');
  if (choice.type === 'allowed_tools') {
    const { mode, tools } = isRecord(choice.allowed_tools) ? choice.allowed_tools : choice;
    const allowed = namedToolsIn(tools).map(({ name }) => name);
    return { mode: mode === 'required' ? 'required' : 'auto', ...(allowed.length === 0 ? {} : { allowed }) };
  }
  const named = readTool(choice, 'tool_choice');
  if (named === undefined)
    throw unsupportedValue('tool_choice', 'only a call of a function or a custom tool can be forced');
  return { mode: 'required', name: named.name };
};

/**
 * The functions and custom tools among `tools` that a model may call, as `tool_choice` and `parallel_tool_calls` say. Undefined if there
 * are none, or none may be called.
 */
export const parseClientTools = ({ tools, tool_choice, parallel_tool_calls }: JsonObject): RequestTools | undefined => {
  const { mode, name, allowed } = toolChoiceOf(tool_choice);
  const found = parseTools(tools).filter((tool) => allowed?.includes(tool.name) ?? true);
  if (mode === 'required' && (name === undefined ? found.length === 0 : found.every((tool) => tool.name !== name)))
    throw unsupportedValue('tool_choice', 'there is no such function in tools');
  if (found.length === 0 || mode === 'none') return undefined;
  const [only, ...others] = found;
  const forced = name ?? (mode === 'required' && others.length === 0 ? only?.name : undefined);
  return {
    tools: found,
    choice: forced === undefined ? mode : { name: forced },
    isParallel: parallel_tool_calls !== false,
  };
};

/** The names of a client's custom tools. */
export const customNamesIn = (clientTools: RequestTools | undefined): ReadonlySet<string> =>
  new Set((clientTools?.tools ?? []).flatMap(({ name, isCustom }) => (isCustom ? [name] : [])));

/** Whether a client's `tools` are all functions and custom tools without a grammar, so that nothing of them is ignored. */
export const areAllFunctions = (tools: unknown): boolean =>
  Array.isArray(tools) &&
  namedToolsIn(tools).filter(({ members }) => grammarIn(members) === undefined).length === tools.length;

/** The input of a custom call as the arguments of a function, which it is to the model. */
export const customArguments = (input: string): string => JSON.stringify({ input });

/** The input of a custom call from the arguments of its function: the text alone, or what a model has given in its place. */
export const customInput = (json: string): string => {
  const value = parseJsonValue(json);
  return isRecord(value) && typeof value.input === 'string' ? value.input : json;
};
