import * as assert from 'uvu/assert';
import { ModelError, type ModelRequest } from '../../../src/agent/model/types.ts';
import { outcome, type Script, toolNamed } from '../../agent/harness/world.ts';
import type { Check } from '../../check.ts';
import { lastTextTo } from '../harness/model-scripts.ts';
import {
  assistant,
  type BridgeGiven,
  type BridgeWorld,
  createBridgeWorld,
  dataIn,
  joinedIn,
  KEY,
} from '../harness/world.ts';
import { type Item, instructionsIn, receivedIn, type Told, toldOf } from './told.ts';

/** A request of a client: a chat with `messages`, a response with `input`, or a completion with `prompt`. */
export type Asked = {
  readonly messages?: readonly Item[];
  readonly input?: string | readonly Item[];
  readonly prompt?: string;
  /** Its other members. */
  readonly more?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly key?: string;
  /** It sends only what is new: before it comes all that this earlier request has sent and got. */
  readonly after?: number | readonly Item[];
  /** What happens before it is sent. */
  readonly first?: (world: BridgeWorld) => Promise<BridgeWorld>;
  /** How it is answered; 200 if nothing is said. */
  readonly status?: number;
  /** A model is to receive something else than what was sent, for this reason. */
  readonly but?: {
    readonly because: string;
    readonly told?: (told: readonly Told[]) => readonly Told[];
    readonly system?: string;
    /** It was answered before, so no model is asked. */
    readonly isAnswered?: boolean;
  };
};
/** What a client knows after a request. */
export type Said = {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  /** The answer, as the client sends it back. */
  readonly answer: readonly Item[];
  /** The results of its calls, as they are sent. */
  readonly results: (outputFor?: (name: string) => unknown) => readonly Item[];
  /** Everything that was sent and got up to here. */
  readonly whole: readonly Item[];
};
export type Situation = {
  readonly name: string;
  readonly requests: readonly (Asked | ((said: readonly Said[], world: BridgeWorld) => Asked | Promise<Asked>))[];
  readonly given?: BridgeGiven;
  /** Each request continues the one before it: what was told stays as it was, for the caches of backends. */
  readonly isPlain?: boolean;
  /** In how many sessions the model was asked. */
  readonly sessions?: number;
};

const FINISHED = {
  kind: 'finished',
  finish: 'stop',
  tokens: { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 }, total: 2 },
} as const;
const INPUTS: Readonly<Record<string, object>> = {
  weather: { city: 'Oslo' },
  sh: { input: 'ls' },
  StructuredOutput: { n: 1 },
};

/** A model that makes the calls that it is asked for ("call weather, clock") or has to make, and says "re ..." otherwise. */
const createModel = () => {
  const requests: ModelRequest[] = [];
  let count = 0;
  const script: Script = async function* (request) {
    requests.push(request);
    count += 1;
    const { messages, tools, toolChoice } = request;
    const words = lastTextTo(request);
    if (words.startsWith('fail')) throw new ModelError('api', 'It fails', { statusCode: 400 });
    if (words === 'break') yield { kind: 'text', delta: 'half' };
    if (words === 'break') throw new ModelError('api', 'It breaks', { statusCode: 400 });
    const offered = tools.map(({ name }) => name);
    const [, saying, wished = ''] = /^(say and )?call (.*)$/.exec(words) ?? [];
    if (saying !== undefined) yield { kind: 'text', delta: 'Let me see.' };
    const must =
      toolChoice === 'required' ? offered.slice(-1) : typeof toolChoice === 'object' ? [toolChoice.name] : [];
    const names = offered.includes('StructuredOutput')
      ? ['StructuredOutput']
      : wished.split(', ').filter((name) => offered.includes(name));
    for (const [index, name] of (names.length > 0 ? names : must).entries()) {
      const [id, input] = [`c${count}-${index}`, INPUTS[name] ?? {}];
      yield { kind: 'call-begun', id, name };
      yield { kind: 'call', id, name, input, raw: JSON.stringify(input) };
    }
    if (names.length + must.length > 0) return yield { ...FINISHED, finish: 'tool-calls' };
    const isCounted = messages.at(-1)?.role === 'tool' || words === 'roll';
    yield { kind: 'text', delta: isCounted ? `it is ${count}` : `re ${words}` };
    yield FINISHED;
  };
  return { requests, script };
};

const pathOf = ({ messages, prompt }: Asked): string => {
  if (messages !== undefined) return '/v1/chat/completions';
  return prompt === undefined ? '/v1/responses' : '/v1/completions';
};
const itemsOf = ({ messages, input, prompt }: Asked): readonly Item[] => {
  const given = messages ?? input ?? prompt ?? [];
  return typeof given === 'string' ? [{ role: 'user', content: given }] : given;
};

type Answer = {
  readonly id?: string;
  readonly choices?: readonly { readonly message?: Item; readonly text?: string }[];
  readonly output?: readonly Item[];
};
const answerIn = ({ choices, output = [] }: Answer): readonly Item[] =>
  choices === undefined ? output : choices.map(({ message, text }) => message ?? { role: 'assistant', content: text });

const saidIn = (response: Response, json: Answer, sent: readonly Item[]): Said => {
  const answer = answerIn(json);
  const [told] = toldOf(answer);
  const isChat = json.output === undefined;
  return {
    id: json.id ?? '',
    name: response.headers.get('x-session-id') ?? '',
    text: told?.role === 'assistant' ? told.text : '',
    answer,
    results: (outputFor = (name) => `${name} is fine`) =>
      told?.role !== 'assistant'
        ? []
        : told.calls.map(({ id, name }) =>
            isChat
              ? { role: 'tool', tool_call_id: id, content: outputFor(name) }
              : { type: 'function_call_output', call_id: id, output: outputFor(name) },
          ),
    whole: [...sent, ...answer],
  };
};

const OWN_INSTRUCTIONS =
  /^You build\.(?:\n\nGive the final answer by calling the tool StructuredOutput\. .*)?(?:\n\n|$)/;

/** What was told before is the beginning of what is told now. */
const assertGrows = (requests: readonly ModelRequest[]): void => {
  for (const [index, { messages, system, tools }] of requests.entries()) {
    const before = requests[index - 1];
    if (before === undefined) continue;
    assert.equal(messages.slice(0, before.messages.length), before.messages, `call ${index} of the model`);
    assert.equal([system, tools], [before.system, before.tools], `call ${index} of the model`);
  }
};

/** Compares what a model has received with what a client has sent. `sent`: with what came in earlier requests. */
const assertTold = (received: ModelRequest, asked: Asked, sent: readonly Item[]): void => {
  const { but, more = {} } = asked;
  const expected = toldOf(sent);
  const told = but?.told?.(expected) ?? expected;
  assert.equal(receivedIn(received), told);
  // A reason that has gone must go.
  if (but?.told !== undefined) assert.not.equal(told, expected, but.because);
  const instructions = [more.instructions, ...instructionsIn(itemsOf(asked))].filter((one) => one !== undefined);
  assert.match(received.system, OWN_INSTRUCTIONS);
  assert.is(received.system.replace(OWN_INSTRUCTIONS, ''), but?.system ?? instructions.join('\n\n'));
};

const jsonOf = (text: string): Answer =>
  text.startsWith('data: ') ? { choices: [{ message: assistant(joinedIn(dataIn(text))) }] } : JSON.parse(text);

/** Sends the requests of a situation, one after the other, and compares what the model receives with what was sent. */
export const play = async ({ requests, given = {}, isPlain = false, sessions }: Situation): Promise<void> => {
  const model = createModel();
  const look = toolNamed('look', async () => outcome('found it'));
  const first = await createBridgeWorld({ ...given, scripts: [model.script], tools: [look] });
  let world = first;
  const said: Said[] = [];
  try {
    for (const request of requests) {
      const asked = typeof request === 'function' ? await request(said, world) : request;
      const { more, headers, key = KEY, after = [], but, messages, input, prompt } = asked;
      world = (await asked.first?.(world)) ?? world;
      const since = model.requests.length;
      const body = { ...more, messages, input, prompt };
      const response = await world.send(pathOf(asked), body, { authorization: `Bearer ${key}`, ...headers });
      const text = await response.text();
      assert.is(response.status, asked.status ?? 200, text);
      const calls = model.requests.slice(since);
      assert.is(calls.length === 0, but?.isAnswered === true, but?.because);
      const known = typeof after === 'number' ? (said[after]?.whole ?? []) : after;
      const sent = [...known, ...itemsOf(asked)];
      for (const received of calls.slice(0, 1)) assertTold(received, asked, sent);
      assertGrows(calls);
      said.push(saidIn(response, jsonOf(text), sent));
    }
    if (isPlain) assertGrows(model.requests);
    const count = new Set(model.requests.map(({ sessionID }) => sessionID)).size;
    assert.is(count, sessions ?? count, 'sessions');
  } finally {
    await first.stop();
  }
};

/** Declares a check for each situation. */
export const compare = (check: Check, situations: readonly Situation[]): void => {
  for (const situation of situations) check(situation.name, () => play(situation));
};
