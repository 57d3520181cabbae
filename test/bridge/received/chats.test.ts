import { describe } from '../../check.ts';
import { assistant, OTHER_KEY, system, user } from '../harness/world.ts';
import { agentKilled, compare, killed, next, restarted, type Situation } from './play.ts';
import { toldOf } from './told.ts';

const DESK = { 'x-session-id': 'desk' };
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const OTHER_PIXEL = 'data:image/png;base64,iVBORw0KGgoAAAAA';
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
      (said) => ({ messages: [...(said[1]?.whole ?? []), user('d')] }),
      (said) => ({ messages: [...(said[2]?.whole ?? []), user('e')] }),
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

const messages: readonly Situation[] = [
  {
    name: 'other instructions, and none',
    requests: [
      { messages: [system('Be brief.'), user('a')] },
      { messages: [system('Be kind.'), ...A, user('b')] },
      { messages: [...AB, user('c')] },
    ],
    sessions: 1,
  },
  {
    name: 'two instructions, one of a developer, and one late',
    requests: [
      { messages: [system('Be brief.'), { role: 'developer', content: 'Be kind.' }, user('a')] },
      { messages: [{ role: 'system', content: [text('Be'), text('brief.')] }, ...A, system('Be loud.'), user('b')] },
      { messages: [...AB, user('c'), system('Be quiet.')] },
    ],
    sessions: 1,
  },
  {
    name: 'instructions alone',
    requests: [
      {
        messages: [system('Write a haiku.')],
        but: {
          because: 'backends answer messages alone, so instructions are the message where there is no other',
          told: () => toldOf([user('Write a haiku.')]),
          system: '',
        },
      },
    ],
    sessions: 1,
  },
  {
    name: 'several questions, one after the other',
    requests: [
      { messages: [user('a'), user('b'), user('c')] },
      (said) => ({ messages: [...(said[0]?.whole ?? []), user('d'), user('e')] }),
      next('f'),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'several questions, one after the other, in a history that nobody knows',
    requests: [{ messages: [user('a'), user('b'), assistant('c'), user('d')] }],
    sessions: 1,
  },
  {
    name: 'lists of texts and images',
    requests: [
      { messages: [user([text('one'), text(''), text('two'), image(), text('three'), image(), image()])] },
      next([image(), text('four')]),
      next('five'),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'text files and other files',
    requests: [
      {
        messages: [
          user([
            text('one'),
            { type: 'file', file: { filename: 'a.txt', file_data: `data:text/plain;base64,${btoa('in a file')}` } },
            { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0=' } },
          ]),
        ],
      },
      next('b'),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'answers as lists, refusals and empty ones',
    requests: [
      {
        messages: [
          ...[user('a'), { role: 'assistant', content: [text('one'), text('two')] }],
          ...[user('b'), { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] }],
          ...[user('c'), assistant(''), user('d'), { role: 'assistant', content: null }, user('e')],
        ],
      },
      next('f'),
    ],
    sessions: 1,
  },
  {
    name: 'two answers, one after the other',
    requests: [{ messages: [user('a'), assistant('one'), assistant('two'), user('b')] }, next('c')],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'an answer that is begun, and what follows',
    requests: [
      {
        messages: [user('a'), assistant('Once upon')],
        but: {
          because: 'agents begin each answer anew, so the beginning is in the instructions',
          told: (told) => told.slice(0, 1),
          system:
            'Your answer has been begun already, with the text below. Write what comes right after its last character. Do not repeat any of it, and do not mention this.\n\nOnce upon',
        },
      },
      { messages: [user('a'), assistant('Once uponre a'), user('b')] },
    ],
    sessions: 2,
  },
  {
    name: 'a completion, and another',
    requests: [{ prompt: 'a' }, { prompt: 'b' }],
    sessions: 2,
  },
  {
    name: 'a completion with a name',
    requests: [
      { prompt: 'a', headers: DESK },
      { prompt: 'b', headers: DESK, after: 0 },
    ],
    isPlain: true,
    sessions: 1,
  },
];

const named: readonly Situation[] = [
  {
    name: 'a name, and only what is new',
    requests: [
      { messages: [user('a')], headers: DESK },
      { messages: [user('b')], headers: DESK, after: 0 },
      { messages: [system('Be brief.'), user('c'), user('d')], headers: DESK, after: 1, first: restarted },
    ],
    sessions: 1,
  },
  {
    name: 'a name, and the whole history',
    requests: [next('a', { headers: DESK }), next('b', { headers: DESK }), next('c', { headers: DESK })],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a name in the metadata, and in the key for caches',
    requests: [
      { messages: [user('a')], more: { metadata: { chat_id: 'm' } } },
      { messages: [user('b')], more: { metadata: { chat_id: 'm' } }, after: 0 },
      next('c', { more: { prompt_cache_key: 'm' } }),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a name, and a history that was edited, then only what is new',
    requests: [
      next('a', { headers: DESK }),
      next('b', { headers: DESK }),
      { messages: [...A, user('B')], headers: DESK },
      { messages: [user('c')], headers: DESK, after: 2 },
    ],
    sessions: 2,
  },
  {
    name: 'a name, and a history that nobody knows',
    requests: [
      next('a', { headers: DESK }),
      { messages: [...OTHER, user('c')], headers: DESK },
      { messages: [user('d')], headers: DESK, after: 1 },
    ],
    sessions: 2,
  },
  {
    name: 'a name of another key',
    requests: [
      { messages: [user('a')], headers: DESK },
      { messages: [user('b')], headers: DESK, key: OTHER_KEY },
    ],
    sessions: 2,
  },
  {
    name: 'a name that was given in the answer',
    requests: [
      next('a'),
      (said) => ({ messages: [user('b')], headers: { 'x-session-id': said[0]?.name ?? '' }, after: 0 }),
    ],
    isPlain: true,
    sessions: 1,
  },
];

describe('what a model receives of a chat that goes on', (check) => compare(check, plain));
describe('what a model receives of a chat that changes', (check) => compare(check, changed));
describe('what a model receives of the messages of a chat', (check) => compare(check, messages));
describe('what a model receives of a chat with a name', (check) => compare(check, named));
