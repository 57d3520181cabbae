import { isRecord, parseJsonValue } from '../../../src/core/json.ts';
import { answer, calls, type ModelScript, type ScriptedAnswer, text } from '../../../src/demo/model/reply.ts';
import type { ReceivedRequest } from '../../../src/demo/model/request.ts';
import { isTitle } from '../agent/world.ts';

// A model that does what the short prompts of compatibility suites ask for. It sees only the request that it receives.

type JsonObject = Readonly<Record<string, unknown>>;
type Tool = { readonly name: string; readonly parameters: JsonObject };

const DIGITS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine'];

const recordOf = (value: unknown): JsonObject => (isRecord(value) ? value : {});

const toolsIn = ({ body }: ReceivedRequest): readonly Tool[] =>
  (Array.isArray(body.tools) ? body.tools : []).map((tool: unknown) => {
    const { name, parameters } = recordOf(recordOf(tool).function);
    return { name: String(name), parameters: recordOf(parameters) };
  });

/** The tool that has to be called: one that the request, the instructions or the user name. */
const toolToCall = (request: ReceivedRequest, words: string): Tool | undefined => {
  const { name: forced } = recordOf(recordOf(request.body.tool_choice).function);
  const [, ordered] = /\bby calling the tool (\w+)/.exec(request.system) ?? [];
  const wanted = forced ?? ordered ?? /\b(?:call|use)(?: the)? (\w+)/i.exec(words)?.[1];
  return toolsIn(request).find(({ name }) => name === wanted);
};

/** What a free text has to be: a program that prints the words, or a sum in digits. */
const freeText = (words: string): string => {
  const [, printed] = /\bprint (.+?) to the console/.exec(words) ?? [];
  if (printed !== undefined) return `print("${printed}")`;
  const [, left = '', right = ''] = /\badd (\w+) plus (\w+)/.exec(words) ?? [];
  return left === '' ? words : `${DIGITS.indexOf(left)} + ${DIGITS.indexOf(right)}`;
};

/** The value of a member: the only one that its schema allows, or the one that the user says. */
const memberOf = (name: string, schema: JsonObject, words: string): unknown => {
  if (Array.isArray(schema.enum)) return schema.enum[0];
  const [, quoted, bare] = new RegExp(`\\b${name}(?:=| )(?:"([^"]*)"|(\\w+))`).exec(words) ?? [];
  const said = quoted ?? bare;
  return schema.type === 'integer' ? Number(said) : (said ?? freeText(words));
};

const argumentsOf = ({ parameters }: Tool, words: string): JsonObject => {
  const properties = Object.entries(recordOf(parameters.properties));
  if (properties.length === 0) return recordOf(parseJsonValue(/\{.*\}/.exec(words)?.[0] ?? ''));
  return Object.fromEntries(properties.map(([name, schema]) => [name, memberOf(name, recordOf(schema), words)]));
};

/** In pieces, so that a stream has several. */
const say = (words: string): ScriptedAnswer => answer(text(...(words.match(/.{1,2}/gs) ?? [])));

/** The words that the client or the user asks for. */
const askedWords = (said: string): string | undefined =>
  /\b(?:[Rr]eply|[Aa]nswer|[Ss]ay)(?: briefly)?(?: with)?(?: exactly)? ([A-Z_]+)\b/.exec(said)?.[1];

export const obedientScript: ModelScript = (request) => {
  const { turns, system } = request;
  if (isTitle(request)) return say('A title');
  const at = turns.findLastIndex(({ role }) => role === 'user');
  const words = turns[at]?.text ?? '';
  const result = turns.slice(at + 1).findLast(({ role }) => role === 'tool');
  if (result !== undefined) return say(result.text);
  if (/just the number/.test(words)) {
    const before = turns.slice(0, at).flatMap((turn) => turn.text.match(/\d+/g) ?? []);
    return say(before.at(-1) ?? 'none');
  }
  const tool = toolToCall(request, words);
  if (tool !== undefined) return answer(calls({ name: tool.name, arguments: argumentsOf(tool, words) }));
  return say(askedWords(words) ?? askedWords(system) ?? words);
};
