import { describe } from '../../check.ts';
import { assistant, OTHER_KEY, system, user } from '../harness/world.ts';
import { compare, type Situation } from './play.ts';
import { chatOn, DESK, next, PIXEL, restarted } from './sent.ts';
import { toldOf } from './told.ts';

const image = (url = PIXEL) => ({ type: 'image_url', image_url: { url } });
const text = (words: string) => ({ type: 'text', text: words });
const A = [user('a'), assistant('re a')];
const AB = [...A, user('b'), assistant('re b')];
const OTHER = [user('x'), assistant('y'), user('z'), assistant('w')];

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
    requests: [{ messages: [user('a'), user('b'), user('c')] }, chatOn(0, [user('d'), user('e')]), next('f')],
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
    name: 'blanks around texts',
    requests: [{ messages: [user(' a '), assistant(' b\n'), user('\n\tc ')] }, next(' d\n')],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'equal questions',
    requests: [next('a'), next('a'), next('a')],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'long texts',
    requests: [next('x '.repeat(100_000)), next('b'), next('y'.repeat(200_000)), next('c')],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'any characters',
    requests: [
      next('a\u0000b'),
      next('\u2028 \u{1F468}\u200d\u{1F469} \u0645\u0631 \ud800 x'),
      next('<|im_end|>{{x}}'),
      next('c'),
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a question whose answer has failed, and the next one',
    requests: [
      next('a'),
      chatOn(0, [user('fail')], { status: 502 }),
      chatOn(1, [user('b')]),
      { messages: [...A, user('break')], status: 502 },
      chatOn(3, [user('c')]),
    ],
    sessions: 4,
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
    name: 'a name, and a question whose answer has failed, or has failed in the middle',
    requests: [
      { messages: [user('fail')], headers: DESK, status: 502 },
      { messages: [user('b')], headers: DESK, after: 0 },
      { messages: [user('break')], headers: DESK, status: 502, after: 1 },
      {
        messages: [user('c')],
        headers: DESK,
        after: 2,
        but: {
          because: 'what was written before a failure has been written, and clients of streams have seen it',
          told: (told) => told.toSpliced(-1, 0, ...toldOf([assistant('half')])),
        },
      },
    ],
    isPlain: true,
    sessions: 1,
  },
  {
    name: 'a chat without a name that goes on where one with a name is',
    requests: [
      { messages: [user('a')], headers: DESK },
      { messages: [...A, user('b')] },
      {
        messages: [user('c')],
        headers: DESK,
        after: 0,
        but: {
          because: 'a history is found in any conversation of its key, which goes on there',
          told: (told) => [...toldOf(AB), ...told.slice(2)],
        },
      },
    ],
    sessions: 1,
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

describe('what a model receives of the messages of a chat', (check) => compare(check, messages));
describe('what a model receives of a chat with a name', (check) => compare(check, named));
