import { describe } from '../../check.ts';
import { assistant, type BridgeWorld, KEY, OTHER_KEY, user } from '../harness/world.ts';
import { type Asked, compare, type Situation } from './play.ts';
import { answerItem, callItem, ITEM_TOOLS, outputItem, restarted, resultsOf } from './sent.ts';
import { type Item, type Told, toldOf } from './told.ts';

type World = Pick<BridgeWorld, 'send' | 'bridge'>;
/** A conversation that the client has created. */
const created = async (world: World, items: readonly Item[]): Promise<string> => {
  const response = await world.send('/v1/conversations', { items });
  return ((await response.json()) as { readonly id: string }).id;
};
/** Goes on in a conversation with a name. */
const named = (name: string, input: string | readonly Item[], asked: Asked = {}): Asked => ({
  input,
  ...asked,
  more: { conversation: name, ...asked.more },
});

/** A conversation that each check makes for itself. `prepare`: what its client does with it first. */
const inCreated = (
  items: readonly Item[],
  requests: readonly ((id: string) => Asked)[],
  prepare: (world: World, id: string) => Promise<unknown> = async () => {},
): Situation['requests'] => {
  let id = '';
  return requests.map((request, index) => async (_said, world) => {
    if (index === 0) {
      id = await created(world, items);
      await prepare(world, id);
    }
    return request(id);
  });
};
const addItems = async (world: World, id: string): Promise<void> => {
  await world.send(`/v1/conversations/${id}/items`, { items: [user('later'), answerItem('yes')] });
};
const deleteSecondItem = async (world: World, id: string): Promise<void> => {
  const listed = await world.send(`/v1/conversations/${id}/items?order=asc`);
  const { data } = (await listed.json()) as { readonly data: readonly { readonly id: string }[] };
  const url = `http://bridge.test/v1/conversations/${id}/items/${data[1]?.id}`;
  await world.bridge.handler(new Request(url, { method: 'DELETE', headers: { authorization: `Bearer ${KEY}` } }));
};

const weather = [callItem('w1', 'weather'), outputItem('w1', 'sun')];
const clock = [callItem('k1', 'clock'), outputItem('k1', '9')];
const EARLIER = [
  user('x'),
  answerItem('y'),
  ...[weather, clock].map(([call = {}]) => call),
  ...[weather, clock].map(([, output = {}]) => output),
  answerItem('z'),
];
const apart = {
  because: 'each item that was added is a message of its own, which can be deleted',
  told: (told: readonly Told[]) => [
    ...[[user('x')], [answerItem('y')], weather, clock].flatMap(toldOf),
    ...told.slice(3),
  ],
};
const afterAnswer = {
  because: 'an answer that a model has given stays as it was, for the caches of backends',
  told: (told: readonly Told[]) => [
    ...[[user('a'), answerItem('re a')], [answerItem('y')]].flatMap(toldOf),
    ...told.slice(2),
  ],
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
    name: 'items that were added later',
    requests: inCreated(
      [user('x')],
      [
        (id) => named(id, 'a', { after: [user('x'), user('later'), answerItem('yes')] }),
        (id) => named(id, 'b', { after: 0 }),
      ],
      addItems,
    ),
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'an item that was deleted',
    requests: inCreated(
      [user('x'), user('y'), answerItem('z')],
      [(id) => named(id, 'a', { after: [user('x'), answerItem('z')] })],
      deleteSecondItem,
    ),
    sessions: 1,
  },
  {
    name: 'earlier items in the input, which are new to the conversation',
    requests: inCreated(
      [],
      [
        (id) => named(id, 'a'),
        (id) => named(id, [user('x'), answerItem('y'), user('b')], { after: 0 }),
        (id) => named(id, 'c', { after: 1 }),
      ],
    ),
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'an answer in the input, after an answer',
    requests: inCreated(
      [],
      [
        (id) => named(id, 'a'),
        (id) => named(id, [answerItem('y'), user('b')], { after: 0, but: afterAnswer }),
        (id) => named(id, 'c', { after: 1, but: afterAnswer }),
      ],
    ),
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'calls and their results in a conversation with a name',
    requests: [
      named('mine', 'call weather', { more: ITEM_TOOLS }),
      (said) => named('mine', resultsOf(0)(said), { after: 0, more: ITEM_TOOLS }),
      named('mine', 'b', { after: 1, more: ITEM_TOOLS }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a conversation with a name, of two keys',
    requests: [named('mine', 'a'), named('mine', 'b', { after: 0 }), named('mine', 'c', { key: OTHER_KEY })],
    sessions: 2,
  },
  {
    name: 'a conversation with a name, where nothing is kept otherwise',
    requests: [
      named('mine', 'a', { more: { store: false } }),
      named('mine', 'b', { after: 0, more: { store: false } }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a chat with the whole history in a conversation of responses',
    requests: inCreated(
      [],
      [
        (id) => named(id, 'a'),
        (id) => ({ messages: [user('a'), assistant('re a'), user('b')], headers: { 'x-session-id': id } }),
        (id) => named(id, 'c', { after: 1 }),
      ],
    ),
    isPlain: true,
    sessions: 1,
  },
];

describe('what a model receives of responses in conversations', (check) => compare(check, byConversation));
