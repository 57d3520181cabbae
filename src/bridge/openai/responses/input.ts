import * as v from 'valibot';
import { isRecord } from '../../../core/json.ts';
import { badInput, filesOfParts, type HistoryMessage, type PromptPart, textOfParts } from '../../request.ts';
import { readAs } from '../body.ts';
import { calledInWords, partsFrom, returnedInWords, withTextsJoined } from '../content.ts';
import { isMessageID, responseIDIn } from './items.ts';

const maybeText = v.nullish(v.string());
const Message = v.object({
  role: v.picklist(['user', 'assistant', 'system', 'developer']),
  content: v.nullish(v.unknown()),
});
const Call = v.object({ call_id: maybeText, name: v.string(), arguments: maybeText, input: maybeText });
const CallOutput = v.object({ call_id: maybeText, name: maybeText, output: v.nullish(v.unknown()) });
const RemoteCall = v.object({
  id: maybeText,
  name: v.string(),
  arguments: maybeText,
  output: maybeText,
  error: v.nullish(v.unknown()),
});
const Reference = v.object({ id: v.string() });

/** An item of a request's input, read. `index` is its place in the body. */
export type ReadItem = {
  readonly index: number;
  /** Whose it is. What tools did belongs to the answer that they were called for. */
  readonly voice: 'user' | 'assistant' | 'instructions';
  readonly parts: readonly PromptPart[];
  /** The id of an item that the client knows of and does not send. */
  readonly reference?: string;
  readonly isToolOutput?: boolean;
};

/** What nobody but the server that made it can read, or what tells nothing of what was said. */
const WITHOUT_WORDS = [
  'additional_tools',
  'compaction',
  'compaction_trigger',
  'computer_call',
  'computer_call_output',
  'configuration_update',
  'image_generation_call',
  'mcp_approval_request',
  'mcp_approval_response',
  'mcp_list_tools',
  'program',
  'reasoning',
];
const OTHER_CALL = /^[a-z_]{1,60}_(?:call|output)$/;
const OTHER_CALL_CHARS = 8000;

/** A call of a tool that is part of somebody else's platform, as its JSON. */
const otherCallInWords = (type: string, { id: _id, type: _type, status: _status, ...rest }: object & Given) =>
  [{ type: 'text', text: `[${type}]\n${JSON.stringify(rest).slice(0, OTHER_CALL_CHARS)}` }] as const;

type Given = Readonly<Record<string, unknown>>;
type ReadMessage = Pick<ReadItem, 'voice' | 'parts' | 'reference' | 'isToolOutput'>;

const byAssistant = (parts: readonly PromptPart[]): ReadMessage => ({ voice: 'assistant', parts });

const messageIn = (item: Given, at: string): ReadMessage => {
  const { role, content } = readAs(Message, item, at);
  const voice = role === 'system' || role === 'developer' ? 'instructions' : role;
  return { voice, parts: partsFrom(content, `${at}.content`) };
};

const remoteCallIn = (item: Given, at: string): ReadMessage => {
  const { id, name, arguments: input, output, error } = readAs(RemoteCall, item, at);
  // Of ours the agent knows, and they are no part of what the client was told in words.
  if (responseIDIn(id ?? '') !== undefined) return byAssistant([]);
  const result = output ?? (error ? JSON.stringify(error) : '');
  return byAssistant([
    calledInWords(name, input ?? ''),
    ...(result === '' ? [] : returnedInWords(name, [{ type: 'text', text: result }])),
  ]);
};

const createReader = () => {
  const names = new Map<string, string>();
  const callIn = (item: Given, at: string): ReadMessage => {
    const { call_id, name, arguments: given, input } = readAs(Call, item, at);
    if (call_id) names.set(call_id, name);
    return byAssistant([calledInWords(name, given ?? input ?? '')]);
  };
  const outputIn = (item: Given, at: string): ReadMessage => {
    const { call_id, name, output } = readAs(CallOutput, item, at);
    const known = names.get(call_id ?? '') ?? name ?? 'a tool';
    const parts = returnedInWords(known, partsFrom(output, `${at}.output`));
    return { ...byAssistant(parts), isToolOutput: true };
  };
  return (item: Given, at: string): ReadMessage => {
    const type = item.type ?? (item.role === undefined ? 'item_reference' : 'message');
    switch (type) {
      case 'message':
        return messageIn(item, at);
      case 'function_call':
      case 'custom_tool_call':
        return callIn(item, at);
      case 'function_call_output':
      case 'custom_tool_call_output':
        return outputIn(item, at);
      case 'mcp_call':
        return remoteCallIn(item, at);
      case 'item_reference':
        return { ...byAssistant([]), reference: readAs(Reference, item, at).id };
      default:
        if (typeof type !== 'string' || !(WITHOUT_WORDS.includes(type) || OTHER_CALL.test(type)))
          throw badInput(
            'invalid_value',
            `${at}.type`,
            `Invalid value at '${at}.type': expected a type of input items`,
          );
        return byAssistant(WITHOUT_WORDS.includes(type) ? [] : otherCallInWords(type, item));
    }
  };
};

/** The items of a request's input, in order. A text alone is one message of the user. */
export const itemsFrom = (input: unknown): readonly ReadItem[] => {
  if (typeof input === 'string') return [{ index: 0, voice: 'user', parts: partsFrom(input, 'input') }];
  if (input === undefined || input === null)
    throw badInput('missing_required_parameter', 'input', "Missing required parameter: 'input'");
  if (!Array.isArray(input))
    throw badInput('invalid_type', 'input', "Invalid type at 'input': expected a string or an array of items");
  if (input.length === 0) throw badInput('empty_array', 'input', "Expected at least one item at 'input'");
  const read = createReader();
  return input.map((item: unknown, index) => {
    const at = `input[${index}]`;
    if (!isRecord(item)) throw badInput('invalid_type', at, `Invalid type at '${at}': expected Object`);
    return { index, ...read(item, at) };
  });
};

export type SaidInItems = {
  readonly system: string;
  /** What was said before the prompt, and after the answer that is known by its id if there is one. */
  readonly history: readonly HistoryMessage[];
  readonly prompt: readonly PromptPart[];
  /** The response that what is said goes on from, where the client sent ids of items in place of the items. */
  readonly after: string | undefined;
  /** Where the client left out a message that cannot be found by its id. */
  readonly lostAt: string | undefined;
};

const saidFrom = (role: HistoryMessage['role'], parts: readonly PromptPart[]): HistoryMessage => {
  const files = filesOfParts(parts);
  return { role, text: textOfParts(parts), ...(files.length === 0 ? {} : { files }) };
};

/** What one side said without the other in between is one thing said. */
const takingTurns = (items: readonly ReadItem[]): readonly HistoryMessage[] => {
  const turns: { readonly role: HistoryMessage['role']; readonly parts: PromptPart[] }[] = [];
  for (const { voice, parts } of items) {
    const role = voice === 'user' ? 'user' : 'assistant';
    const last = turns.at(-1);
    const own = last?.role === role ? last.parts : [];
    if (last?.role !== role) turns.push({ role, parts: own });
    // One by one, because there may be more than a call can have arguments.
    for (const part of parts) own.push(part);
  }
  return turns.map(({ role, parts }) => saidFrom(role, parts));
};

const responseOf = ({ reference }: ReadItem): string | undefined =>
  reference === undefined ? undefined : responseIDIn(reference);
const isMessageReference = ({ reference }: ReadItem): boolean => reference !== undefined && isMessageID(reference);

/** The last item that stands for an answer of ours; none where the words of every answer came along. */
const knownUpTo = (said: readonly ReadItem[]): number => {
  const isNeeded = said.some((item) => isMessageReference(item) && responseOf(item) !== undefined);
  return isNeeded ? said.findLastIndex((item) => responseOf(item) !== undefined) : -1;
};

const promptIn = (said: readonly ReadItem[], start: number): readonly PromptPart[] => {
  const last = said.at(-1);
  if (last === undefined) throw badInput('invalid_value', 'input', "Expected a message of the user at 'input'");
  const at = `input[${last.index}]`;
  if (last.isToolOutput)
    throw badInput(
      'unsupported_value',
      at,
      `Unsupported value at '${at}': the agent runs tools of its own and waits for no output of a client's; expected the user's message`,
    );
  if (start === said.length)
    throw badInput('unsupported_value', at, `Expected the user's message to be the last item, at '${at}'`);
  const prompt = withTextsJoined(said.slice(start).flatMap(({ parts }) => parts));
  if (prompt.length === 0)
    throw badInput('invalid_value', 'input', "Expected something to answer at 'input': it is empty");
  return prompt;
};

/** Instructions, what was said before, and the user's words since the last answer; a fault where there are none. */
export const saidInItems = (input: unknown): SaidInItems => {
  const items = itemsFrom(input);
  const said = items.filter(({ voice }) => voice !== 'instructions');
  const start = said.findLastIndex(({ voice }) => voice !== 'user') + 1;
  const prompt = promptIn(said, start);
  const known = knownUpTo(said);
  const since = said.slice(known + 1, start);
  // The rest of the answer that is known, which some clients send in words.
  const firstSince = known === -1 ? 0 : since.findIndex(({ voice }) => voice === 'user');
  const lost = since.find((item) => isMessageReference(item) && responseOf(item) === undefined);
  const instructions = items.filter(({ voice }) => voice === 'instructions').map(({ parts }) => textOfParts(parts));
  const knownItem = said[known];
  return {
    system: instructions.filter((words) => words !== '').join('\n\n'),
    history: firstSince === -1 ? [] : takingTurns(since.slice(firstSince)),
    prompt,
    after: knownItem === undefined ? undefined : responseOf(knownItem),
    lostAt: lost === undefined ? undefined : `input[${lost.index}].id`,
  };
};
