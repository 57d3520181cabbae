import { describe } from '../../check.ts';
import { assistant, user } from '../harness/world.ts';
import { compare, type Said, type Situation } from './play.ts';
import {
  asks,
  call,
  calling,
  chatOn,
  DESK,
  NO_RESULT,
  next,
  result,
  resultsOf,
  WENT_ON,
  withResults,
  withTools,
} from './sent.ts';
import type { Item } from './told.ts';

const weather = call('w1', 'weather', { city: 'Rome' });
const clock = call('k1', 'clock');
type SentCall = { readonly id: string };
const callsIn = ([first]: readonly Said[]): readonly SentCall[] =>
  (first?.answer[0]?.tool_calls ?? []) as readonly SentCall[];
const firstID = (said: readonly Said[]): string => callsIn(said)[0]?.id ?? '';
/** The results of the first calls as they were not, and the answer that followed. */
const otherResults = (said: readonly Said[]): readonly Item[] => [
  ...resultsOf(0, (name) => `${name} is bad`)(said),
  assistant('it is 2'),
  user('b'),
];

const unknown: readonly Situation[] = [
  {
    name: 'calls and results',
    requests: [
      {
        messages: [
          ...[user('a'), calling('Let me see.', weather), result('w1', 'sun'), assistant('Sunny.')],
          ...[user('b'), calling(null, clock, call('w2', 'weather', { city: 'Bern' })), result('k1', '9')],
          ...[result('w2', 'fog'), calling('', call('k2', 'clock')), result('k2', '10'), assistant('Ten.'), user('c')],
        ],
      },
      next('d'),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results at its end',
    requests: [
      { messages: [user('a'), calling('', weather, clock), result('k1', '9'), result('w1', 'sun')], ...withTools },
      next('b', withTools),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results and words at its end',
    requests: [{ messages: [user('a'), calling('', weather), result('w1', 'sun'), user('b')] }, next('c')],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'ids of calls that are used twice',
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
    requests: [{ messages: [user('a'), calling('', weather), user('b')], but: NO_RESULT }],
    sessions: 1,
  },
  {
    name: 'arguments that are no object',
    requests: [
      {
        messages: [
          ...[user('a'), calling('', { ...weather, function: { name: 'weather', arguments: '[1]' } })],
          ...[result('w1', 'x'), user('b')],
        ],
        but: {
          because: 'backends take only objects, so the arguments are a text in one',
          told: (told) =>
            told.toSpliced(1, 1, {
              role: 'assistant',
              text: '',
              calls: [{ id: 'w1', name: 'weather', input: { arguments: '[1]' } }],
            }),
        },
      },
    ],
    sessions: 1,
  },
  {
    name: 'calls of custom tools',
    requests: [
      {
        messages: [
          ...[user('a'), calling(null, { id: 'u1', type: 'custom', custom: { name: 'sh', input: 'ls' } })],
          ...[result('u1', 'a.txt'), assistant('One file.'), user('b')],
        ],
      },
    ],
    sessions: 1,
  },
];

const changed: readonly Situation[] = [
  {
    name: 'results that each follow their call',
    requests: [
      next('call weather, clock', withTools),
      (said) => {
        const [weatherCall = {}, clockCall = {}] = callsIn(said);
        const [weatherResult = {}, clockResult = {}] = resultsOf(0)(said);
        const answers = [calling('', weatherCall), weatherResult, calling('', clockCall), clockResult];
        return { messages: [user('call weather, clock'), ...answers], ...withTools };
      },
      next('b', withTools),
    ],
    sessions: 2,
  },
  {
    name: 'a result that was changed afterwards',
    requests: [asks, withResults(), chatOn(0, otherResults, withTools), next('c', withTools)],
    sessions: 2,
  },
  {
    name: 'a result that was changed afterwards, in a chat with a name',
    requests: [
      { messages: [user('call weather')], headers: DESK, ...withTools },
      chatOn(0, resultsOf(0), { headers: DESK, ...withTools }),
      chatOn(0, otherResults, { headers: DESK, ...withTools }),
      { messages: [user('c')], headers: DESK, after: 2, ...withTools },
    ],
    sessions: 2,
  },
  {
    name: 'words that go on after results, in two ways',
    requests: [asks, withResults(), chatOn(1, [user('b')]), chatOn(1, [user('c')])],
    sessions: 2,
  },
  {
    name: 'words that go on after calls, in two ways',
    requests: [
      asks,
      next('b', { ...withTools, but: WENT_ON }),
      next('c', { ...withTools, but: WENT_ON }),
      chatOn(0, [user('B')], { ...withTools, but: WENT_ON }),
    ],
    sessions: 2,
  },
  {
    name: 'texts alone, without the calls that were made',
    requests: [asks, withResults(), { messages: [user('call weather'), assistant('it is 2'), user('b')] }, next('c')],
    sessions: 2,
  },
  {
    name: 'another text before a call, and none',
    requests: ['I see.', null].flatMap((content) => [
      { messages: [user('say and call weather')], ...withTools },
      (said: readonly Said[]) => ({
        messages: [user('say and call weather'), { ...said.at(-1)?.answer[0], content }, ...resultsOf(-1)(said)],
        ...withTools,
      }),
    ]),
    sessions: 4,
  },
  {
    name: 'other arguments',
    requests: [
      asks,
      withResults(),
      (said) => ({
        messages: [
          ...[user('call weather'), calling('', call(firstID(said), 'weather', { city: 'Bern' }))],
          ...[...resultsOf(0)(said), assistant('it is 2'), user('b')],
        ],
        but: {
          because:
            'clients write the JSON of arguments anew: a call is known by its id, and keeps what the model wrote',
          told: (told) =>
            told.toSpliced(1, 1, {
              role: 'assistant',
              text: '',
              calls: [{ id: firstID(said), name: 'weather', input: { city: 'Oslo' } }],
            }),
        },
      }),
    ],
    sessions: 1,
  },
];

describe('what a model receives of calls in a history that nobody knows', (check) => compare(check, unknown));
describe('what a model receives of calls in a history that was changed', (check) => compare(check, changed));
