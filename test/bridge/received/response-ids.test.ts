import { describe } from '../../check.ts';
import { user } from '../harness/world.ts';
import { type Asked, compare, type Said, type Situation } from './play.ts';
import {
  agentKilled,
  answerItem,
  ITEM_TOOLS,
  killed,
  OWN_ITEM,
  restarted,
  resultsOf,
  SCHEMA,
  VALUE,
  WENT_ON,
} from './sent.ts';
import { type Item, toldOf } from './told.ts';

/** Goes on after an earlier response, by its id. */
const after =
  (index: number, input: string | readonly Item[], more: object = {}, asked: Asked = {}) =>
  (said: readonly Said[]): Asked => ({
    input,
    after: index,
    ...asked,
    more: { previous_response_id: said[index]?.id, ...more },
  });
const resultsAfter =
  (index: number, outputFor?: (name: string) => unknown, ...rest: readonly Item[]) =>
  (said: readonly Said[]): Asked =>
    after(index, [...resultsOf(index, outputFor)(said), ...rest], ITEM_TOOLS)(said);

const byID: readonly Situation[] = [
  {
    name: 'responses that follow each other',
    requests: [{ input: 'a' }, after(0, 'b'), after(1, 'c'), after(2, [user('d'), user('e')])],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'responses that follow each other, with restarts and other bridges',
    requests: [
      { input: 'a' },
      after(0, 'b', {}, { first: restarted }),
      after(1, 'c', {}, { first: agentKilled }),
      after(2, 'd', {}, { first: killed }),
    ],
    given: { bridges: 2 },
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a branch after an earlier response, and what follows in both',
    requests: [{ input: 'a' }, after(0, 'b'), after(0, 'B'), after(1, 'c'), after(2, 'C')],
    sessions: 2,
  },
  {
    name: 'a response that has failed, and another in its place',
    requests: [{ input: 'a' }, after(0, 'fail', {}, { status: 502 }), after(0, 'b'), after(2, 'c')],
    sessions: 2,
  },
  {
    name: 'instructions, which are those of one response alone',
    requests: [
      { input: 'a', more: { instructions: 'Be brief.' } },
      after(0, 'b'),
      after(1, [{ role: 'developer', content: 'Be kind.' }, user('c')], { instructions: 'Be loud.' }),
    ],
    sessions: 1,
  },
  {
    name: 'calls, their results and what follows',
    requests: [
      ...[{ input: 'call weather, clock', more: ITEM_TOOLS }, resultsAfter(0), after(1, 'b', ITEM_TOOLS)],
      ...[after(2, 'call clock', ITEM_TOOLS), resultsAfter(3)],
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results with words behind them, and a branch there',
    requests: [
      { input: 'call weather', more: ITEM_TOOLS },
      resultsAfter(0, undefined, user('b')),
      after(1, 'c'),
      after(1, 'C'),
    ],
    sessions: 2,
  },
  {
    name: 'words in the place of a result, and the result later',
    requests: [
      { input: 'call weather', more: ITEM_TOOLS },
      after(0, 'never mind', ITEM_TOOLS, { but: WENT_ON }),
      resultsAfter(0),
      after(1, 'b', ITEM_TOOLS, { but: WENT_ON }),
      after(2, 'c', ITEM_TOOLS),
    ],
    sessions: 2,
  },
  {
    name: 'other results of the same call, in a branch',
    requests: [
      { input: 'call weather', more: ITEM_TOOLS },
      resultsAfter(0),
      after(1, 'b', ITEM_TOOLS),
      resultsAfter(0, () => 'snow', user('B')),
      after(3, 'c', ITEM_TOOLS),
    ],
    sessions: 2,
  },
  {
    name: 'items of an earlier time, which are new to the response before',
    requests: [{ input: 'a' }, after(0, [user('x'), answerItem('y'), user('b')]), after(1, 'c')],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a response that goes on without a word',
    requests: [
      { input: 'a' },
      after(
        0,
        [],
        {},
        {
          but: {
            because: 'backends answer messages alone',
            told: (told) => [...told, ...toldOf([user('Continue.')])],
          },
        },
      ),
    ],
    sessions: 1,
  },
  {
    name: 'a value, and what follows',
    requests: [
      { input: 'a', more: { text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA } } } },
      after(0, 'b', {}, { but: VALUE }),
    ],
    sessions: 1,
  },
  {
    name: 'a call of the agent, and what follows',
    requests: [{ input: 'call look' }, after(0, 'b', {}, { but: OWN_ITEM })],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'ids of items in the place of items',
    requests: [
      { input: 'a' },
      (said) => ({
        input: [{ type: 'item_reference', id: String(said[0]?.answer[0]?.id) }, user('b')],
        but: { because: 'an id stands for its item', told: () => toldOf([...(said[0]?.whole ?? []), user('b')]) },
      }),
    ],
    sessions: 1,
  },
];

describe('what a model receives of responses by id', (check) => compare(check, byID));
