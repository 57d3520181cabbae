import { describe } from '../../check.ts';
import { user } from '../harness/world.ts';
import { compare, type Situation } from './play.ts';
import {
  answerItem,
  callItem,
  ITEM_TOOLS,
  itemsOn,
  OWN_ITEM,
  outputItem,
  PIXEL,
  ROUTER_TOOLS,
  restarted,
  resultsOf,
} from './sent.ts';

const text = (words: string) => ({ type: 'input_text', text: words });
const image = { type: 'input_image', image_url: PIXEL };
const summary = [{ type: 'summary_text', text: 'hm' }];
const reasoning = { type: 'reasoning', id: 'rs_1', summary, encrypted_content: 'x' };
/** Sends all items again, with something more. */
const next = (content: unknown, more: Readonly<Record<string, unknown>> = {}) => itemsOn(-1, [user(content)], { more });
const withResults = (more: Readonly<Record<string, unknown>> = ITEM_TOOLS) => itemsOn(-1, resultsOf(-1), { more });

const byItems: readonly Situation[] = [
  {
    name: 'all items each time',
    requests: [next('a'), next('b'), itemsOn(-1, [user('c')], { first: restarted })],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'all items each time, where nothing is kept',
    requests: [next('a', { store: false }), next('b', { store: false }), next('c', { store: false })],
    sessions: 3,
  },
  {
    name: 'items of reasoning',
    requests: [
      { input: [user('a'), reasoning, answerItem('b'), user('c')] },
      itemsOn(0, [user('d')]),
      (said) => ({ input: [...(said[1]?.whole ?? []).slice(0, -1), reasoning, ...(said[1]?.answer ?? []), user('e')] }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'calls and their results among all items',
    requests: [
      next('call weather, clock', ITEM_TOOLS),
      withResults(),
      next('b', ITEM_TOOLS),
      next('call clock', ITEM_TOOLS),
      withResults(),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'calls and their results that nobody knows, with reasoning between them',
    requests: [
      {
        input: [
          ...[user('a'), reasoning, callItem('w1', 'weather', { city: 'Rome' }), callItem('k1', 'clock')],
          ...[outputItem('w1', 'sun'), outputItem('k1', '9'), reasoning, answerItem('Sunny at nine.'), user('b')],
        ],
      },
      next('c'),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results that each follow their call, with reasoning between them',
    requests: [
      {
        input: [
          ...[user('a'), callItem('w1', 'weather', { city: 'Rome' }), outputItem('w1', 'sun'), reasoning],
          ...[callItem('k1', 'clock'), outputItem('k1', [text('9'), text('o’clock')])],
        ],
        more: ITEM_TOOLS,
      },
      next('b', ITEM_TOOLS),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a text and a call in one answer',
    requests: [
      {
        input: [user('a'), answerItem('Let me see.'), callItem('w1', 'weather'), outputItem('w1', 'sun')],
        more: ITEM_TOOLS,
      },
      next('b', ITEM_TOOLS),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'images, lists of texts, and instructions as items',
    requests: [
      {
        input: [
          { role: 'system', content: 'Be brief.' },
          { role: 'developer', content: [text('Be kind.')] },
          user([text('one'), text('two'), image, text('three')]),
        ],
        more: { instructions: 'Be loud.' },
      },
    ],
    sessions: 1,
  },
  {
    name: 'edited items, and an answer that is asked for again',
    requests: [next('a'), next('roll'), itemsOn(0, [user('B')]), itemsOn(0, [user('roll')]), next('c')],
    sessions: 3,
  },
  {
    name: 'a handoff: other functions and instructions',
    requests: [
      next('call transfer_to_clerk', { instructions: 'You route.', ...ROUTER_TOOLS }),
      withResults({ instructions: 'You are the clerk.', ...ITEM_TOOLS }),
      next('call weather', { instructions: 'You are the clerk.', ...ITEM_TOOLS }),
      withResults({ instructions: 'You are the clerk.', ...ITEM_TOOLS }),
    ],
    sessions: 1,
  },
  {
    name: 'functions that have to be called',
    requests: [
      next('a', { ...ITEM_TOOLS, tool_choice: { type: 'function', name: 'weather' } }),
      withResults(),
      next('b', { ...ITEM_TOOLS, tool_choice: 'required' }),
      withResults(),
    ],
    sessions: 1,
  },
  {
    name: 'calls and their results, where nothing is kept',
    requests: [
      next('call weather', { ...ITEM_TOOLS, store: false }),
      withResults({ ...ITEM_TOOLS, store: false }),
      next('b', { ...ITEM_TOOLS, store: false }),
    ],
    sessions: 3,
  },
  {
    name: 'calls that another server has made',
    requests: [
      {
        input: [
          ...[
            user('a'),
            { type: 'mcp_call', id: 'm1', name: 'find', arguments: '{"q":1}', output: 'found', server_label: 's' },
          ],
          ...[answerItem('b'), user('c')],
        ],
      },
      next('d'),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'calls of the agent',
    requests: [{ input: 'call look' }, itemsOn(0, [user('b')], { but: OWN_ITEM })],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a call of a tool of another platform',
    requests: [
      {
        input: [
          user('a'),
          { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { query: 'x' } },
          answerItem('b'),
          user('c'),
        ],
        but: {
          because: 'no tool here has such a call, so the answer says what was called',
          told: (told) =>
            told.toSpliced(1, 2, {
              role: 'assistant',
              text: '[web_search_call]\n{"action":{"query":"x"}}\n\nb',
              calls: [],
            }),
        },
      },
    ],
    sessions: 1,
  },
];
describe('what a model receives of responses with all items', (check) => compare(check, byItems));
