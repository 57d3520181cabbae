import { TOOLS } from '../harness/tools-world.ts';
import { type BridgeWorld, user } from '../harness/world.ts';
import type { Asked, Said } from './play.ts';
import type { Item, Told } from './told.ts';

// What the tables of situations are written with.

type Items = readonly Item[] | ((said: readonly Said[]) => readonly Item[]);

const goingOn =
  (member: 'messages' | 'input') =>
  (index: number, items: Items, asked: Asked = {}) =>
  (said: readonly Said[]): Asked => ({
    [member]: [...(said.at(index)?.whole ?? []), ...(typeof items === 'function' ? items(said) : items)],
    ...asked,
  });
/** A chat that sends all that was sent and got up to a request, and something more. */
export const chatOn = goingOn('messages');
/** The same for a response, with its items. */
export const itemsOn = goingOn('input');

/** The results of the calls of an answer. */
export const resultsOf =
  (index: number, outputFor?: (name: string) => unknown) =>
  (said: readonly Said[]): readonly Item[] =>
    said.at(index)?.results(outputFor) ?? [];

/** A chat that goes on where it is. */
export const next = (content: unknown, asked: Asked = {}) => chatOn(-1, [user(content)], asked);

export const withTools = { more: { tools: TOOLS } };
export const asks = next('call weather', withTools);
/** A chat that goes on with the results of its last calls. */
export const withResults = (asked: Asked = withTools, outputFor?: (name: string) => unknown) =>
  chatOn(-1, resultsOf(-1, outputFor), asked);

export const DESK = { 'x-session-id': 'desk' };
export const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
export const OTHER_PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAAA';

/** A call of an answer in a history. */
export const call = (id: string, name: string, input: object = {}) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
});
export const calling = (content: string | null, ...tool_calls: readonly object[]): Item => ({
  role: 'assistant',
  content,
  tool_calls,
});
export const result = (tool_call_id: string, content: unknown): Item => ({ role: 'tool', tool_call_id, content });

/** The same as items of a response. */
export const callItem = (call_id: string, name: string, input: object = {}): Item => ({
  type: 'function_call',
  call_id,
  name,
  arguments: JSON.stringify(input),
});
export const outputItem = (call_id: string, output: unknown): Item => ({
  type: 'function_call_output',
  call_id,
  output,
});
export const answerItem = (text: string): Item => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text }],
});
const functionItem = (name: string) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } });
export const ITEM_TOOLS = { tools: [functionItem('weather'), functionItem('clock')] };
export const ROUTER_TOOLS = { tools: [functionItem('transfer_to_clerk')] };

export const restarted = (world: BridgeWorld): Promise<BridgeWorld> => world.restart();
export const killed = (world: BridgeWorld): Promise<BridgeWorld> => world.restartKilled();
export const agentKilled = async (world: BridgeWorld): Promise<BridgeWorld> => {
  world.killAgent();
  await world.startAgent();
  return world;
};

/** The first calls that have no result get one that says so: backends refuse a call without a result. */
const unanswered =
  (output: string) =>
  (told: readonly Told[]): readonly Told[] => {
    const at = told.findIndex((one) => one.role === 'assistant' && one.calls.length > 0);
    const answer = told[at];
    const calls = answer?.role === 'assistant' ? answer.calls : [];
    const results = calls.map(({ id, name }) => ({ id, name, output, isError: true }));
    return told.toSpliced(at + 1, 0, { role: 'tool', results });
  };
const because = 'backends refuse a call without a result';
export const NO_RESULT = { because, told: unanswered('No result was given') };
export const WENT_ON = { because, told: unanswered('The user went on without a result of this call.') };
/** Other messages in the place of so many after the first. */
export const inPlaceOf = (why: string, count: number, own: readonly Told[]) => ({
  because: why,
  told: (told: readonly Told[]) => told.toSpliced(1, count, ...own),
});
const callOf = (name: string, input: object, output: string): readonly Told[] => [
  { role: 'assistant', text: '', calls: [{ id: 'c1-0', name, input }] },
  { role: 'tool', results: [{ id: 'c1-0', name, output, isError: false }] },
];
export const OWN_CALL = callOf('look', {}, 'found it');
export const VALUE = inPlaceOf(
  'a value was a call of the agent, and stays one',
  1,
  callOf('StructuredOutput', { n: 1 }, 'The answer was given to the user.'),
);
/** To clients, calls of the agent are items with ids of their own. */
export const OWN_ITEM = inPlaceOf('a call of the agent has another id as an item', 2, OWN_CALL);
export const SCHEMA = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
