import { describe } from '../../check.ts';
import { type BridgeWorld, OTHER_KEY, user } from '../harness/world.ts';
import { type Asked, agentKilled, compare, killed, restarted, type Said, type Situation } from './play.ts';
import { type Item, type Told, toldOf } from './told.ts';

const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const answer = (content: string): Item => ({
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: content }],
});
const text = (words: string) => ({ type: 'input_text', text: words });
const image = { type: 'input_image', image_url: PIXEL };
const functionItem = (name: string) => ({ type: 'function', name, parameters: { type: 'object', properties: {} } });
const TOOLS = [functionItem('weather'), functionItem('clock')];
const withTools = { tools: TOOLS };
const FORMAT = {
  format: {
    type: 'json_schema',
    name: 'n',
    schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
  },
};
const reasoning = {
  type: 'reasoning',
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'hm' }],
  encrypted_content: 'x',
};

/** Goes on after an earlier response, by its id. */
const after =
  (index: number, input: string | readonly Item[], more: object = {}, asked: Asked = {}) =>
  (said: readonly Said[]): Asked => ({
    input,
    after: index,
    ...asked,
    more: { previous_response_id: said[index]?.id, ...more },
  });
/** Sends all items again, with something more. */
const next =
  (content: unknown, more: object = {}, asked: Asked = {}) =>
  (said: readonly Said[]): Asked => ({
    input: [...(said.at(-1)?.whole ?? []), user(content)],
    more: { ...more },
    ...asked,
  });
const withResults =
  (more: object = withTools) =>
  (said: readonly Said[]): Asked => ({
    input: [...(said.at(-1)?.whole ?? []), ...(said.at(-1)?.results() ?? [])],
    more: { ...more },
  });
const resultsAfter =
  (index: number, more: object = withTools) =>
  (said: readonly Said[]): Asked =>
    after(index, said[index]?.results() ?? [], more)(said);

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
      { input: 'call weather, clock', more: withTools },
      resultsAfter(0),
      after(1, 'b', withTools),
      after(2, 'call clock', withTools),
      resultsAfter(3),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'results with words behind them, and a branch before them',
    requests: [
      { input: 'call weather', more: withTools },
      (said) => after(0, [...(said[0]?.results() ?? []), user('b')], withTools)(said),
      after(1, 'c'),
      (said) => after(1, [user('C')])(said),
    ],
    sessions: 2,
  },
  {
    name: 'items of an earlier time, which are new to the response before',
    requests: [{ input: 'a' }, after(0, [user('x'), answer('y'), user('b')]), after(1, 'c')],
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
      { input: 'a', more: { text: FORMAT } },
      after(
        0,
        'b',
        {},
        {
          but: {
            because: 'a value was a call of the agent, and stays one',
            told: (told) => told.toSpliced(1, 1, ...VALUE),
          },
        },
      ),
    ],
    sessions: 1,
  },
  {
    name: 'ids of items in the place of items',
    requests: [
      { input: 'a' },
      (said) => ({
        input: [user('a'), { type: 'item_reference', id: String(said[0]?.answer[0]?.id) }, user('b')],
        but: { because: 'an id stands for its item', told: () => toldOf([...(said[0]?.whole ?? []), user('b')]) },
      }),
    ],
    sessions: 1,
  },
];
const VALUE: readonly Told[] = [
  { role: 'assistant', text: '', calls: [{ id: 'c1-0', name: 'StructuredOutput', input: { n: 1 } }] },
  {
    role: 'tool',
    results: [{ id: 'c1-0', name: 'StructuredOutput', output: 'The answer was given to the user.', isError: false }],
  },
];
const byItems: readonly Situation[] = [
  {
    name: 'all items each time',
    requests: [next('a'), next('b'), next('c', {}, { first: restarted })],
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
      { input: [user('a'), reasoning, answer('b'), user('c')] },
      (said) => ({ input: [...(said[0]?.whole ?? []), user('d')] }),
      (said) => ({ input: [...(said[1]?.whole ?? []).slice(0, -1), reasoning, ...(said[1]?.answer ?? []), user('e')] }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'calls and their results among all items',
    requests: [
      next('call weather, clock', withTools),
      withResults(),
      next('b', withTools),
      next('call clock', withTools),
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
          ...[user('a'), reasoning, item('w1', 'weather', { city: 'Rome' }), item('k1', 'clock')],
          ...[output('w1', 'sun'), output('k1', '9'), reasoning, answer('Sunny at nine.'), user('b')],
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
          ...[user('a'), item('w1', 'weather', { city: 'Rome' }), output('w1', 'sun'), reasoning],
          ...[item('k1', 'clock'), output('k1', [text('9'), text('o’clock')])],
        ],
        more: withTools,
      },
      next('b', withTools),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a text and a call in one answer',
    requests: [
      { input: [user('a'), answer('Let me see.'), item('w1', 'weather'), output('w1', 'sun')], more: withTools },
      next('b', withTools),
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
    requests: [
      next('a'),
      next('roll'),
      (said) => ({ input: [...(said[0]?.whole ?? []), user('B')] }),
      (said) => ({ input: [...(said[0]?.whole ?? []), user('roll')] }),
      next('c'),
    ],
    sessions: 3,
  },
  {
    name: 'a handoff: other functions and instructions',
    requests: [
      next('call transfer_to_clerk', { instructions: 'You route.', tools: [functionItem('transfer_to_clerk')] }),
      withResults({ instructions: 'You are the clerk.', tools: TOOLS }),
      next('call weather', { instructions: 'You are the clerk.', tools: TOOLS }),
      withResults({ instructions: 'You are the clerk.', tools: TOOLS }),
    ],
    sessions: 1,
  },
  {
    name: 'functions that have to be called',
    requests: [
      next('a', { ...withTools, tool_choice: { type: 'function', name: 'weather' } }),
      withResults(),
      next('b', { ...withTools, tool_choice: 'required' }),
      withResults(),
    ],
    sessions: 1,
  },
  {
    name: 'a call of a tool of another platform',
    requests: [
      {
        input: [
          user('a'),
          { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { query: 'x' } },
          answer('b'),
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
function item(call_id: string, name: string, input: object = {}): Item {
  return { type: 'function_call', call_id, name, arguments: JSON.stringify(input) };
}
function output(call_id: string, given: unknown): Item {
  return { type: 'function_call_output', call_id, output: given };
}

/** A conversation that the client has created. */
const created = async (world: BridgeWorld, items: readonly Item[] = []): Promise<string> => {
  const response = await world.send('/v1/conversations', { items });
  return ((await response.json()) as { readonly id: string }).id;
};
/** Goes on in a conversation with a name. */
const named = (name: string, input: string | readonly Item[], asked: Asked = {}): Asked => ({
  input,
  ...asked,
  more: { conversation: name, ...asked.more },
});

/** A conversation that each check makes for itself. */
const inCreated = (items: readonly Item[], requests: readonly ((id: string) => Asked)[]): Situation['requests'] => {
  let id = '';
  return requests.map((request, index) => async (_said, world) => {
    if (index === 0) id = await created(world, items);
    return request(id);
  });
};
const EARLIER = [
  user('x'),
  answer('y'),
  item('w1', 'weather'),
  item('k1', 'clock'),
  output('w1', 'sun'),
  output('k1', '9'),
  answer('z'),
];

const apart = {
  because: 'each item that was added is a message of its own, which can be deleted',
  told: (told: readonly Told[]) => [
    ...toldOf([user('x')]),
    ...toldOf([answer('y')]),
    ...toldOf([item('w1', 'weather'), output('w1', 'sun')]),
    ...toldOf([item('k1', 'clock'), output('k1', '9')]),
    ...told.slice(3),
  ],
};
const afterAnswer = {
  because: 'an answer that a model has given stays as it was, for the caches of backends',
  told: (told: readonly Told[]) => [...toldOf([user('a'), answer('re a')]), ...toldOf([answer('y')]), ...told.slice(2)],
};

const byConversation: readonly Situation[] = [
  {
    name: 'a conversation that was created empty',
    requests: inCreated(
      [],
      [
        (id) => named(id, 'a'),
        (id) => named(id, 'b', { after: 0 }),
        (id) => named(id, 'c', { after: 1, first: restarted }),
      ],
    ),
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a conversation that was created with items',
    requests: inCreated(EARLIER, [
      (id) => named(id, 'a', { after: EARLIER, but: apart }),
      (id) => named(id, 'b', { after: 0, but: apart }),
    ]),
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'earlier items in the input, which are new to the conversation',
    requests: inCreated(
      [],
      [
        (id) => named(id, 'a'),
        (id) => named(id, [user('x'), answer('y'), user('b')], { after: 0 }),
        (id) => named(id, 'c', { after: 1 }),
      ],
    ),
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'items that follow an answer',
    requests: inCreated(
      [],
      [
        (id) => named(id, 'a'),
        (id) => named(id, [answer('y'), user('b')], { after: 0, but: afterAnswer }),
        (id) => named(id, 'c', { after: 1, but: afterAnswer }),
      ],
    ),
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'calls and their results in a conversation',
    requests: [
      { input: 'call weather', more: { ...withTools, conversation: 'mine' } },
      (said) => named('mine', said[0]?.results() ?? [], { after: 0, more: withTools }),
      named('mine', 'b', { after: 1, more: withTools }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a conversation with a name of the client’s own, of two keys',
    requests: [named('mine', 'a'), named('mine', 'b', { after: 0 }), named('mine', 'c', { key: OTHER_KEY })],
    sessions: 2,
  },
  {
    name: 'a chat with the whole history in a conversation of responses',
    requests: inCreated(
      [],
      [
        (id) => named(id, 'a'),
        (id) => ({
          messages: [user('a'), { role: 'assistant', content: 're a' }, user('b')],
          headers: { 'x-session-id': id },
        }),
        (id) => named(id, 'c', { after: 1 }),
      ],
    ),
    isPlain: true,
    sessions: 1,
  },
];

describe('what a model receives of responses by id', (check) => compare(check, byID));
describe('what a model receives of responses with all items', (check) => compare(check, byItems));
describe('what a model receives of responses in conversations', (check) => compare(check, byConversation));
