import { describe } from '../../check.ts';
import { functionNamed, TOOLS } from '../harness/tools-world.ts';
import { assistant, quietTime, system, user } from '../harness/world.ts';
import { agentKilled, compare, killed, next, restarted, type Said, type Situation, withTools } from './play.ts';
import type { Item, Told } from './told.ts';

const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const call = (id: string, name: string, input: object = {}) => ({
  id,
  type: 'function',
  function: { name, arguments: JSON.stringify(input) },
});
const calling = (content: string | null, ...tool_calls: readonly object[]): Item => ({
  role: 'assistant',
  content,
  tool_calls,
});
const result = (tool_call_id: string, content: unknown): Item => ({ role: 'tool', tool_call_id, content });
const weather = call('w1', 'weather', { city: 'Rome' });
const clock = call('k1', 'clock');
/** Everything up to now, and the results of the last calls. */
const withResults =
  (asked: object = withTools, outputFor?: (name: string) => unknown) =>
  (said: readonly Said[]) => ({
    messages: [...(said.at(-1)?.whole ?? []), ...(said.at(-1)?.results(outputFor) ?? [])],
    ...asked,
  });
const DESK = { 'x-session-id': 'desk' };
const FORMAT = {
  type: 'json_schema',
  json_schema: { name: 'n', schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
};
const SHELL = { type: 'custom', custom: { name: 'sh', description: 'A shell' } };
const asks = next('call weather', withTools);
const asksBoth = next('call weather, clock', withTools);

const inTurn: readonly Situation[] = [
  {
    name: 'a call, its result and what follows',
    requests: [asks, withResults(), next('b', withTools), asks, withResults()],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'parallel calls, and their results',
    requests: [asksBoth, withResults(), next('b', withTools)],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'parallel calls, and their results in another order',
    requests: [
      asksBoth,
      (said) => ({ messages: [...(said[0]?.whole ?? []), ...(said[0]?.results() ?? []).toReversed()], ...withTools }),
      next('b', withTools),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a result with the words of the user behind it',
    requests: [
      asks,
      (said) => ({ messages: [...(said[0]?.whole ?? []), ...(said[0]?.results() ?? []), user('b')], ...withTools }),
      next('c', withTools),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results after restarts',
    requests: [
      asks,
      withResults({ ...withTools, first: restarted }),
      asks,
      withResults({ ...withTools, first: agentKilled }),
      asks,
      withResults({ ...withTools, first: killed }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results at another bridge',
    requests: [asks, withResults(), asks, withResults()],
    given: { bridges: 2 },
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a result that comes after its time',
    requests: [
      asks,
      withResults({
        ...withTools,
        first: async (world: Parameters<typeof restarted>[0]) => {
          await quietTime(40);
          return world;
        },
      }),
    ],
    given: { changes: { clientToolTimeoutMs: 20 } },
    sessions: 1,
  },
  {
    name: 'a result alone, in a conversation with a name',
    requests: [
      { messages: [user('call weather')], headers: DESK, ...withTools },
      (said) => ({ messages: said[0]?.results() ?? [], headers: DESK, after: 0, ...withTools }),
      { messages: [user('b')], headers: DESK, after: 1, ...withTools },
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results that say that a call has failed, are empty, and lists of texts',
    requests: [
      asks,
      withResults(withTools, () => 'Error: no such city'),
      asks,
      withResults(withTools, () => ''),
      asks,
      withResults(withTools, () => ['one', 'two'].map((text) => ({ type: 'text', text }))),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a result with an image',
    requests: [
      asks,
      (said) => ({
        ...withResults(withTools, () => [
          { type: 'text', text: 'a map' },
          { type: 'image_url', image_url: { url: PIXEL } },
        ])(said),
        but: {
          because: 'most backends take only text in a result, so its files are a message behind it',
          told: (told) => [
            ...told,
            {
              role: 'user',
              pieces: [{ text: 'Files from the result of weather:' }, { mime: 'image/png', url: PIXEL }],
            },
          ],
        },
      }),
    ],
    sessions: 1,
  },
  {
    name: 'no result, but other words',
    requests: [
      asks,
      next('never mind', {
        ...withTools,
        but: {
          because: 'backends refuse a call without a result',
          told: (told) => unanswered(told, 'The user went on without a result of this call.'),
        },
      }),
    ],
    sessions: 1,
  },
];
/** The same, with what stands for the result of its first call. */
const unanswered = (told: readonly Told[], output: string): readonly Told[] => {
  const at = told.findIndex((one) => one.role === 'assistant' && one.calls.length > 0);
  const answer = told[at];
  const results =
    answer?.role === 'assistant' ? answer.calls.map(({ id, name }) => ({ id, name, output, isError: true })) : [];
  return told.toSpliced(at + 1, 0, { role: 'tool', results });
};

const FIRST_COUNTS = { because: 'the first result of a call counts, and has its answer', isAnswered: true };

const inHistories: readonly Situation[] = [
  {
    name: 'calls and results in a history that nobody knows',
    requests: [
      {
        messages: [
          ...[user('a'), calling('Let me see.', weather), result('w1', 'sun'), assistant('Sunny.')],
          ...[
            user('b'),
            calling(null, clock, call('w2', 'weather', { city: 'Bern' })),
            result('k1', '9'),
            result('w2', 'fog'),
          ],
          ...[calling('', call('k2', 'clock')), result('k2', '10'), assistant('Ten.'), user('c')],
        ],
      },
      next('d'),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a history that nobody knows and that ends in results',
    requests: [
      { messages: [user('a'), calling('', weather, clock), result('k1', '9'), result('w1', 'sun')], ...withTools },
      next('b', withTools),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'the same, with words before its end',
    requests: [{ messages: [user('a'), calling('', weather), result('w1', 'sun'), user('b')] }, next('c')],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results that each follow their call',
    requests: [
      asksBoth,
      (said) => {
        const [weatherCall = {}, clockCall = {}] = callsIn(said);
        const [weatherResult = {}, clockResult = {}] = said[0]?.results() ?? [];
        const messages = [
          user('call weather, clock'),
          calling('', weatherCall),
          weatherResult,
          calling('', clockCall),
          clockResult,
        ];
        return { messages, ...withTools };
      },
      next('b', withTools),
    ],
    sessions: 2,
  },
  {
    name: 'a result that was changed afterwards',
    requests: [
      asks,
      withResults(),
      (said) => ({
        messages: [
          ...(said[0]?.whole ?? []),
          ...(said[0]?.results(() => 'snow') ?? []),
          assistant('it is 2'),
          user('b'),
        ],
        ...withTools,
      }),
    ],
    sessions: 2,
  },
  {
    name: 'another result of a call that has one',
    requests: [
      asks,
      withResults(),
      next('b', withTools),
      (said) => ({ ...withResults(withTools, () => 'snow')(said.slice(0, 1)), but: FIRST_COUNTS }),
    ],
    sessions: 1,
  },
  {
    name: 'texts alone, without the calls that were made',
    requests: [asks, withResults(), { messages: [user('call weather'), assistant('it is 2'), user('b')] }, next('c')],
    sessions: 2,
  },
  {
    name: 'words that go on where the calls were made, in a branch',
    requests: [
      asks,
      withResults(),
      (said) => ({ messages: [...(said[1]?.whole ?? []), user('b')] }),
      (said) => ({ messages: [...(said[1]?.whole ?? []), user('c')] }),
    ],
    sessions: 2,
  },
  {
    name: 'ids of calls that were used before',
    requests: [
      {
        messages: [
          ...[user('a'), calling('', weather), result('w1', 'sun')],
          ...[calling('', call('w1', 'weather', { city: 'Bern' })), result('w1', 'fog'), assistant('b'), user('c')],
        ],
      },
      next('d'),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a call without its result',
    requests: [
      {
        messages: [user('a'), calling('', weather), user('b')],
        but: {
          because: 'backends refuse a call without a result',
          told: (told) => unanswered(told, 'No result was given'),
        },
      },
    ],
    sessions: 1,
  },
  {
    name: 'arguments that were changed afterwards',
    requests: [
      asks,
      withResults(),
      (said) => ({
        messages: [
          ...[user('call weather'), calling('', call(firstCall(said).id, 'weather', { city: 'Bern' }))],
          ...[...(said[0]?.results() ?? []), assistant('it is 2'), user('b')],
        ],
        but: {
          because:
            'clients write the JSON of arguments anew: a call is known by its id, and has the arguments of the model',
          told: (told) =>
            told.toSpliced(1, 1, {
              role: 'assistant',
              text: '',
              calls: [{ id: firstCall(said).id, name: 'weather', input: { city: 'Oslo' } }],
            }),
        },
      }),
    ],
    sessions: 1,
  },
  {
    name: 'calls of custom tools in a history that nobody knows',
    requests: [
      {
        messages: [
          user('a'),
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'u1', type: 'custom', custom: { name: 'sh', input: 'ls' } }],
          },
          ...[result('u1', 'a.txt'), assistant('One file.'), user('b')],
        ],
      },
    ],
    sessions: 1,
  },
];
type SentCall = { readonly id: string };
const callsIn = ([first]: readonly Said[]): readonly SentCall[] =>
  (first?.answer[0]?.tool_calls ?? []) as readonly SentCall[];
const firstCall = (said: readonly Said[]): SentCall => callsIn(said)[0] ?? { id: '' };

const OWN_CALL: readonly Told[] = [
  { role: 'assistant', text: '', calls: [{ id: 'c1-0', name: 'look', input: {} }] },
  { role: 'tool', results: [{ id: 'c1-0', name: 'look', output: 'found it', isError: false }] },
];
const OWN_STEPS: readonly Told[] = [
  { role: 'assistant', text: 'Let me see.', calls: [{ id: 'c1-0', name: 'look', input: {} }] },
  ...OWN_CALL.slice(1),
  { role: 'assistant', text: 'it is 2', calls: [] },
];
const ownCall = {
  because: 'what tools of the agent gave is known to the agent alone, and stays',
  told: (told: readonly Told[]) => told.toSpliced(1, 0, ...OWN_CALL),
};
const VALUE: readonly Told[] = [
  { role: 'assistant', text: '', calls: [{ id: 'c1-0', name: 'StructuredOutput', input: { n: 1 } }] },
  {
    role: 'tool',
    results: [{ id: 'c1-0', name: 'StructuredOutput', output: 'The answer was given to the user.', isError: false }],
  },
];
const value = {
  because: 'a value was a call of the agent, and stays one',
  told: (told: readonly Told[]) => told.toSpliced(1, 1, ...VALUE),
};

const choices: readonly Situation[] = [
  {
    name: 'a function that has to be called, its result and what follows',
    requests: [
      next('a', { more: { tools: TOOLS, tool_choice: { type: 'function', function: { name: 'weather' } } } }),
      withResults(),
      next('b', withTools),
    ],
    sessions: 1,
  },
  {
    name: 'any function that has to be called, its result and what follows',
    requests: [next('a', { more: { tools: TOOLS, tool_choice: 'required' } }), withResults(), next('b', withTools)],
    sessions: 1,
  },
  {
    name: 'a call that is the answer: other words follow',
    requests: [
      next('a', { more: { tools: TOOLS, tool_choice: 'required' } }),
      (said) => ({ messages: [...(said[0]?.whole ?? []), ...(said[0]?.results(() => '') ?? []), user('b')] }),
    ],
    sessions: 1,
  },
  {
    name: 'functions that are not to be called',
    requests: [
      asks,
      withResults({ more: { tools: TOOLS, tool_choice: 'none' } }),
      next('call weather'),
      next('b', withTools),
    ],
    sessions: 1,
  },
  {
    name: 'calls of custom tools, and their results',
    requests: [
      next('call sh', { more: { tools: [SHELL] } }),
      withResults({ more: { tools: [SHELL] } }),
      next('b', { more: { tools: [SHELL] } }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a handoff: other functions and instructions',
    requests: [
      {
        messages: [system('You route.'), user('call transfer_to_clerk')],
        more: { tools: [functionNamed('transfer_to_clerk')] },
      },
      (said) => ({
        messages: [
          system('You are the clerk.'),
          ...(said[0]?.whole ?? []).slice(1),
          ...(said[0]?.results(() => '{"assistant":"clerk"}') ?? []),
        ],
        ...withTools,
      }),
      next('call weather', withTools),
      withResults(),
    ],
    sessions: 1,
  },
  {
    name: 'a value, and what follows',
    requests: [
      next('a', { more: { response_format: FORMAT } }),
      next('b', { but: value }),
      next('c', { more: { response_format: FORMAT }, but: value }),
    ],
    sessions: 1,
  },
  {
    name: 'values of a history that nobody knows',
    requests: [{ messages: [user('a'), assistant('{"n":1}'), user('b')], more: { response_format: FORMAT } }],
    sessions: 1,
  },
  {
    name: 'a call, and its result with the form of the answer',
    requests: [asks, withResults({ more: { response_format: FORMAT } })],
    sessions: 1,
  },
  {
    name: 'calls of the agent, in a chat that goes on',
    requests: [next('call look'), next('b', { but: ownCall }), next('c', { but: ownCall })],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a text before a call of the agent',
    requests: [
      next('say and call look'),
      next('b', {
        but: {
          because: 'the texts around a call of the agent are one answer to clients, and two to the model',
          told: (told) => [...told.slice(0, 1), ...OWN_STEPS, ...told.slice(2)],
        },
      }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'an approval in a chat, and what follows',
    requests: [
      next('call look'),
      (said) => ({
        messages: [...(said[0]?.whole ?? []), user(`approve ${/"approve (\w+)"/.exec(said[0]?.text ?? '')?.[1]}`)],
        but: {
          because: 'the agent asks the user, not the model',
          told: (told) => [...told.slice(0, 1), ...OWN_CALL],
        },
      }),
      next('b', {
        but: {
          because: 'approvals are no messages to the model',
          told: (told) => [...told.slice(0, 1), ...OWN_CALL, ...told.slice(3)],
        },
      }),
    ],
    given: { rules: [{ permission: '*', pattern: '*', action: 'ask' }] },
    sessions: 1,
  },
  {
    name: 'calls of the agent, in a branch',
    requests: [
      next('call look'),
      next('b', { but: ownCall }),
      (said) => ({ messages: [...(said[0]?.whole ?? []), user('B')], but: ownCall }),
    ],
    sessions: 2,
  },
];

describe('what a model receives of calls in a turn', (check) => compare(check, inTurn));
describe('what a model receives of calls in a history', (check) => compare(check, inHistories));
describe('what a model receives where a choice or a form is asked for', (check) => compare(check, choices));
