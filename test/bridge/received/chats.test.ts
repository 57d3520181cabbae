import { describe } from '../../check.ts';
import { assistant, OTHER_KEY, system, user } from '../harness/world.ts';
import { compare, type Situation } from './play.ts';
import { agentKilled, chatOn, killed, next, OTHER_PIXEL, PIXEL, restarted } from './sent.ts';
import { toldOf } from './told.ts';

const image = (url = PIXEL) => ({ type: 'image_url', image_url: { url } });
const text = (words: string) => ({ type: 'text', text: words });
const A = [user('a'), assistant('re a')];
const AB = [...A, user('b'), assistant('re b')];
const OTHER = [user('x'), assistant('y'), user('z'), assistant('w')];
const ab = [next('a'), next('b')];

const plain: readonly Situation[] = [
  { name: 'a chat that sends its whole history', requests: [...ab, next('c'), next('d')], isPlain: true, sessions: 1 },
  {
    name: 'a chat in streams',
    requests: ['a', 'b', 'c'].map((words) => next(words, { more: { stream: true } })),
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a chat with instructions',
    requests: ['a', 'b'].map((words) => (said) => ({
      messages: [...(said.at(-1)?.whole ?? [system('Be brief.')]), user(words)],
    })),
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a chat with restarts of the bridge',
    requests: [...ab, next('c', { first: restarted }), next('d', { first: killed })],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a chat with a restart of the agent, and of both',
    requests: [
      ...ab,
      next('c', { first: agentKilled }),
      next('d', { first: async (world) => agentKilled(await world.restart()) }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a chat through other bridges',
    requests: [...ab, next('c'), next('d')],
    given: { bridges: 3 },
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a history that nobody knows, and what follows',
    requests: [{ messages: [...OTHER, user('c')] }, next('d'), next('e')],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a history that nobody knows, with images, and what follows',
    requests: [{ messages: [user([image(), text('what?')]), assistant('a pixel'), user('c')] }, next('d')],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a history that begins with an answer',
    requests: [{ messages: [assistant('How can I help?'), user('a')] }, next('b')],
    isPlain: true,
    sessions: 1,
  },
];

const changed: readonly Situation[] = [
  { name: 'an edited last question', requests: [...ab, { messages: [...A, user('B')] }], sessions: 2 },
  {
    name: 'an edited first question, and what follows',
    requests: [...ab, { messages: [user('A')] }, next('c')],
    sessions: 2,
  },
  {
    name: 'an edited answer',
    requests: [...ab, { messages: [user('a'), assistant('said otherwise'), user('c')] }],
    sessions: 2,
  },
  {
    name: 'an edited question in the middle of a long history',
    requests: [
      ...ab,
      next('c'),
      { messages: [...A, user('B'), assistant('re b'), user('c'), assistant('re c'), user('d')] },
    ],
    sessions: 2,
  },
  {
    name: 'an answer that is asked for again, and each of the two kept',
    requests: [
      next('a'),
      next('roll'),
      { messages: [...A, user('roll')] },
      next('c'),
      chatOn(1, [user('d')]),
      chatOn(2, [user('e')]),
    ],
    sessions: 3,
  },
  { name: 'a history that ends earlier', requests: [...ab, next('c'), { messages: [...A, user('d')] }], sessions: 2 },
  {
    name: 'a history whose beginning was left out',
    requests: [...ab, { messages: [...AB.slice(2), user('c')] }, next('d')],
    sessions: 2,
  },
  {
    name: 'a history with a message left out in the middle',
    requests: [...ab, next('c'), { messages: [...AB, assistant('re c'), user('d')].toSpliced(2, 1) }],
    sessions: 2,
  },
  {
    name: 'a history whose beginning is known, and its rest is not',
    requests: [...ab, { messages: [...A, ...OTHER, user('c')] }, next('d')],
    sessions: 2,
  },
  {
    name: 'branches of a branch, after a restart',
    requests: [
      ...ab,
      { messages: [...A, user('B')] },
      next('c', { first: restarted }),
      { messages: [...A, user('B'), assistant('re B'), user('C')], first: agentKilled },
    ],
    sessions: 3,
  },
  {
    name: 'an image that was taken for another one',
    requests: [
      { messages: [user([text('what?'), image()])] },
      next('b'),
      (said) => ({
        messages: [user([text('what?'), image(OTHER_PIXEL)]), ...(said[1]?.whole ?? []).slice(1), user('c')],
      }),
    ],
    sessions: 2,
  },
  {
    name: 'a history of another key',
    requests: [...ab, next('c', { key: OTHER_KEY }), next('d', { key: OTHER_KEY })],
    sessions: 2,
  },
  {
    name: 'two equal chats',
    requests: [next('a'), { messages: [user('a')] }, next('c'), { messages: [...A, user('d')] }],
    sessions: 4,
  },
  {
    name: 'a chat that keeps nothing',
    requests: ['a', 'b', 'c'].map((words) => next(words, { more: { store: false } })),
    sessions: 3,
  },
  {
    name: 'blanks that a client has changed',
    requests: [
      next('a  b'),
      (said) => ({
        messages: [user(' a b'), assistant(`${said[0]?.text}\n`), user('c')],
        but: {
          because: 'clients change blanks: the conversation is the same, and the model has it as it was first sent',
          told: (told) => [...toldOf([user('a  b'), assistant('re a  b')]), ...told.slice(2)],
        },
      }),
    ],
    sessions: 1,
  },
  {
    name: 'reasoning that a client sends back as text',
    requests: [
      next('a'),
      {
        messages: [user('a'), assistant('<think>hm</think>re a'), user('b')],
        but: {
          because: 'reasoning is shown as text by some clients, and is no part of the answer',
          told: (told) => [...toldOf(A), ...told.slice(2)],
        },
      },
    ],
    sessions: 1,
  },
];

describe('what a model receives of a chat that goes on', (check) => compare(check, plain));
describe('what a model receives of a chat that changes', (check) => compare(check, changed));
