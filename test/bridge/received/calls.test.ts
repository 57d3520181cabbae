import { describe } from '../../check.ts';
import { type BridgeWorld, quietTime, system, user } from '../harness/world.ts';
import { compare, type Situation } from './play.ts';
import {
  agentKilled,
  asks,
  chatOn,
  DESK,
  killed,
  next,
  PIXEL,
  restarted,
  resultsOf,
  WENT_ON,
  withResults,
  withTools,
} from './sent.ts';

const asksBoth = next('call weather, clock', withTools);
const says = next('say and call weather', withTools);
const afterTheTime = async (world: BridgeWorld): Promise<BridgeWorld> => {
  await quietTime(40);
  return world;
};

const calls: readonly Situation[] = [
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
      chatOn(0, (said) => resultsOf(0)(said).toReversed(), withTools),
      next('b', withTools),
      asksBoth,
      withResults(),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a text before a call, also over restarts',
    requests: [
      says,
      withResults({ ...withTools, first: agentKilled }),
      next('b', { ...withTools, first: killed }),
      says,
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a result with words of the user behind it',
    requests: [asks, chatOn(0, (said) => [...resultsOf(0)(said), user('b')], withTools), next('c', withTools)],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results after restarts',
    requests: [
      ...[asks, withResults({ ...withTools, first: restarted })],
      ...[asks, withResults({ ...withTools, first: agentKilled })],
      ...[asks, withResults({ ...withTools, first: killed })],
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
    requests: [asks, withResults({ ...withTools, first: afterTheTime }), next('b', withTools)],
    given: { changes: { clientToolTimeoutMs: 20 } },
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a result alone, in a chat with a name',
    requests: [
      { messages: [user('call weather')], headers: DESK, ...withTools },
      (said) => ({ messages: resultsOf(0)(said), headers: DESK, after: 0, ...withTools }),
      { messages: [user('b')], headers: DESK, after: 1, ...withTools },
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results that say that a call has failed, are empty, have blanks, and are lists of texts',
    requests: [
      ...[asks, withResults(withTools, () => 'Error: no such city')],
      ...[asks, withResults(withTools, () => '')],
      ...[asks, withResults(withTools, () => '  a:\n    b\n')],
      ...[asks, withResults(withTools, () => ['one', 'two'].map((text) => ({ type: 'text', text })))],
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a result with other instructions',
    requests: [
      asks,
      (said) => ({ messages: [system('Be brief.'), ...(withResults()(said).messages ?? [])], ...withTools }),
    ],
    sessions: 1,
  },
  {
    name: 'a result with an image',
    requests: [
      asks,
      withResults(
        {
          ...withTools,
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
        },
        () => [
          { type: 'text', text: 'a map' },
          { type: 'image_url', image_url: { url: PIXEL } },
        ],
      ),
    ],
    sessions: 1,
  },
  {
    name: 'a long result',
    requests: [
      asks,
      withResults(
        {
          ...withTools,
          but: {
            because: 'of a long output the model gets as much as the operator has set, as of any tool',
            told: (told) =>
              told.map((one) =>
                one.role !== 'tool'
                  ? one
                  : { ...one, results: one.results.map((result) => ({ ...result, output: cut(result.output) })) },
              ),
          },
        },
        () => 'line\n'.repeat(3000),
      ),
    ],
    sessions: 1,
  },
  {
    name: 'words in the place of a result, and the result later',
    requests: [
      asks,
      next('never mind', { ...withTools, but: WENT_ON }),
      chatOn(0, resultsOf(0), withTools),
      chatOn(1, [user('b')], { ...withTools, but: WENT_ON }),
      chatOn(2, [user('c')], withTools),
    ],
    sessions: 2,
  },
  {
    name: 'another result of a call that has one',
    requests: [
      asks,
      withResults(),
      chatOn(
        0,
        resultsOf(0, () => 'snow'),
        {
          but: { because: 'the first result of a call counts, and has its answer', isAnswered: true },
        },
      ),
      chatOn(1, [user('b')]),
    ],
    sessions: 1,
  },
];
const cut = (output: string): string => {
  const shown = output.split('\n').slice(0, 2000).join('\n');
  return `${shown}\n[${output.length - shown.length} more characters were left out; the server keeps the whole output]`;
};

describe('what a model receives of calls in a turn', (check) => compare(check, calls));
