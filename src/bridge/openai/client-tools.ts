import { badInput, type ClientFunction, type ClientFunctions } from '../request.ts';
import { clientFunctionsIn, parseFunctionSchema, toolChoiceOf } from './answer-format.ts';

type JsonObject = Readonly<Record<string, unknown>>;

const TOOLS_LIMIT = 128;
/** As the agent server has it. */
const DESCRIPTION_CHARS = 16_000;
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

const invalid = (at: string, expected: string) =>
  badInput('invalid_value', at, `Invalid value at '${at}': expected ${expected}`);

const parseTools = (tools: unknown): readonly ClientFunction[] => {
  if (tools !== undefined && tools !== null && !Array.isArray(tools))
    throw badInput('invalid_type', 'tools', "Invalid type at 'tools': expected an array");
  const functions = clientFunctionsIn(tools);
  if (functions.length > TOOLS_LIMIT) throw invalid('tools', `at most ${TOOLS_LIMIT} functions`);
  const names = new Set<string>();
  return functions.map(({ name, description, schema, at, schemaAt }) => {
    if (!NAME.test(name)) throw invalid(`${at}.name`, '1 to 64 letters, digits, _ and -');
    if (names.has(name)) throw invalid(`${at}.name`, 'a name that no other function has');
    names.add(name);
    const text = typeof description === 'string' ? description.trim() : '';
    if (text.length > DESCRIPTION_CHARS) throw invalid(`${at}.description`, `at most ${DESCRIPTION_CHARS} characters`);
    const inputSchema = parseFunctionSchema(schema, schemaAt);
    return { name, ...(text === '' ? {} : { description: text }), inputSchema, at };
  });
};

/**
 * The functions among `tools` that a model may call, as `tool_choice` and `parallel_tool_calls` say. Undefined if there are none,
 * or none may be called. Call it where no call of one function is forced.
 */
export const parseClientTools = ({
  tools,
  tool_choice,
  parallel_tool_calls,
}: JsonObject): ClientFunctions | undefined => {
  const choice = toolChoiceOf(tool_choice);
  const allowed = (name: string): boolean => choice.allowed === undefined || choice.allowed.includes(name);
  const found = parseTools(tools).filter(({ name }) => allowed(name));
  if (found.length === 0 || choice.mode === 'none') return undefined;
  return {
    tools: found,
    choice: choice.mode === 'required' ? 'required' : 'auto',
    isParallel: parallel_tool_calls !== false,
  };
};

/** Whether a client's `tools` are all functions, so that none is ignored. */
export const areAllFunctions = (tools: unknown): boolean =>
  Array.isArray(tools) && clientFunctionsIn(tools).length === tools.length;
