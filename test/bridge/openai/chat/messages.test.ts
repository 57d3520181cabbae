import * as assert from 'uvu/assert';
import { parseChatRequest } from '../../../../src/bridge/openai/chat/request.ts';
import { textOfParts } from '../../../../src/bridge/request.ts';
import { describe } from '../../../check.ts';
import { refusalOf } from '../../harness/recorded-outputs.ts';

const read = (...messages: readonly unknown[]) => parseChatRequest({ messages }, new Headers());
const refused = (...messages: readonly unknown[]) => refusalOf(() => read(...messages));
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown, more: object = {}) => ({ role: 'assistant', content, ...more });
const PICTURE = 'data:image/png;base64,iVBORw0KGgo=';
const picture = { type: 'image_url', image_url: { url: PICTURE } };

describe('the messages of a chat', (check) => {
  check('are distinguished into the conversation before and what is asked now', () => {
    const { history, prompt } = read(user('one'), assistant('two'), user('three'));
    assert.equal(history, [
      { role: 'user', text: 'one' },
      { role: 'assistant', text: 'two' },
    ]);
    assert.equal(prompt, [{ type: 'text', text: 'three' }]);
  });

  check('of the user since the last answer are one prompt', () => {
    const { history, prompt } = read(
      user('one'),
      assistant('two'),
      user('three'),
      user([{ type: 'text', text: 'four' }, picture]),
      user('five'),
    );
    assert.is(history.length, 2);
    assert.equal(prompt, [
      { type: 'text', text: 'three\n\nfour' },
      { type: 'file', at: 'messages[3].content[1].image_url.url', mime: 'image/png', url: PICTURE },
      { type: 'text', text: 'five' },
    ]);
  });

  check('read in a later history as they read in the prompt, so that a conversation is recognised', () => {
    const asked = [
      user('one'),
      user([{ type: 'text', text: 'two' }, picture, { type: 'text', text: 'three' }]),
      user(' '),
    ];
    const { prompt } = read(...asked);
    const { history } = read(...asked, assistant('four'), user('five'));
    assert.is(history[0]?.text, textOfParts(prompt));
    assert.is(history.length, 2);
  });

  check('of the system and the developer are instructions wherever they stand', () => {
    const { system, history, prompt } = read(
      { role: 'developer', content: 'Be brief.' },
      user('one'),
      { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
      user('two'),
      { role: 'system', content: '' },
      { role: 'system', content: 'Be true.' },
    );
    assert.is(system, 'Be brief.\n\nBe kind.\n\nBe true.');
    assert.equal(history, []);
    assert.equal(prompt, [{ type: 'text', text: 'one\n\ntwo' }]);
  });

  check("keep in words what a client's own tools did", () => {
    const { history } = read(
      user('Weather?'),
      assistant(null, {
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'weather', arguments: '{"at":"Oslo"}' } }],
      }),
      { role: 'tool', tool_call_id: 'c1', content: 'rain' },
      { role: 'tool', tool_call_id: 'unknown', content: [{ type: 'text', text: 'wind' }] },
      assistant('Rain.'),
      user('And?'),
    );
    assert.equal(history, [
      { role: 'user', text: 'Weather?' },
      {
        role: 'assistant',
        text: '[called weather with {"at":"Oslo"}]\n\n[weather returned]\nrain\n\n[a tool returned]\nwind\n\nRain.',
        calls: [
          'c1\n[called weather with {"at":"Oslo"}]',
          'c1\n[weather returned]\nrain',
          'unknown\n[a tool returned]\nwind',
        ],
        words: 'Rain.',
      },
    ]);
  });

  check('keep what functions and custom tools did as well', () => {
    const { history } = read(
      assistant('', { function_call: { name: 'old', arguments: '' } }),
      { role: 'function', name: 'old', content: 'done' },
      assistant(undefined, { tool_calls: [{ id: 'c', type: 'custom', custom: { name: 'sql', input: 'select 1' } }] }),
      { role: 'tool', tool_call_id: 'c', content: '1' },
      user('go on'),
    );
    assert.is(
      history[0]?.text,
      '[called old]\n\n[old returned]\ndone\n\n[called sql with select 1]\n\n[sql returned]\n1',
    );
  });

  check('keep refusals, and the files of the conversation before', () => {
    const { history } = read(
      user([picture]),
      assistant([{ type: 'refusal', refusal: 'No.' }]),
      user('why'),
      assistant(null, { refusal: 'Still no.' }),
      user('ok'),
    );
    assert.equal(history, [
      {
        role: 'user',
        text: '',
        files: [{ type: 'file', at: 'messages[0].content[0].image_url.url', mime: 'image/png', url: PICTURE }],
      },
      { role: 'assistant', text: 'No.' },
      { role: 'user', text: 'why' },
      { role: 'assistant', text: 'Still no.' },
    ]);
  });

  check('keep the place of an answer that said nothing', () => {
    const { history, prompt } = read(user('one'), assistant(''), user('two'));
    assert.equal(
      history.map(({ role, text }) => `${role}: ${text}`),
      ['user: one', 'assistant: '],
    );
    assert.is(textOfParts(prompt), 'two');
  });

  const instruction = (content: string) => ({ role: 'system', content });

  check('that are instructions alone are the prompt', () => {
    const { system, history, prompt, prefill } = read(instruction('Write a haiku.'), {
      role: 'developer',
      content: [{ type: 'text', text: 'About rain.' }],
    });
    assert.equal([system, history, textOfParts(prompt), prefill], ['', [], 'Write a haiku.\n\nAbout rain.', undefined]);
    const later = read(instruction('Be brief.'), user('one'), assistant('two'), instruction('Sum up.'));
    assert.equal([later.system, textOfParts(later.prompt)], ['Be brief.', 'Sum up.']);
    assert.equal(
      later.history.map(({ text }) => text),
      ['one', 'two'],
    );
    const asked = read(user('one'), instruction('Be brief.'));
    assert.equal([asked.system, textOfParts(asked.prompt)], ['Be brief.', 'one']);
  });

  check('may end with the beginning of the answer', () => {
    const { history, prompt, prefill } = read(user('one'), assistant('two'), user('three'), assistant('Once upon'));
    assert.equal([history.length, textOfParts(prompt), prefill], [2, 'three', 'Once upon']);
    const alone = read(instruction('Tell a tale.'), assistant('Once upon'));
    assert.equal([alone.system, textOfParts(alone.prompt), alone.prefill], ['', 'Tell a tale.', 'Once upon']);
    const anew = read(user('one'), assistant(''));
    assert.equal([textOfParts(anew.prompt), anew.prefill], ['one', undefined]);
  });

  check('must hold something to answer, and results of calls', () => {
    const call = { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } };
    const called = { role: 'assistant', content: 'I look.', tool_calls: [call] };
    assert.is(refused(user('one'), called), 'unsupported_value at messages[1].role');
    assert.is(refused(assistant('two')), 'unsupported_value at messages[0].role');
    assert.is(refused(instruction(' ')), 'invalid_value at messages[0].content');
    assert.is(refused(user('')), 'invalid_value at messages[0].content');
    assert.is(refused(user('one'), assistant('two'), user([]), user(' \n')), 'invalid_value at messages[3].content');
    assert.is(refused(user(null)), 'invalid_value at messages[0].content');
  });

  check('may end with what a tool of the client has returned', () => {
    const call = { id: 'c', type: 'function', function: { name: 'look', arguments: '{}' } };
    const called = { role: 'assistant', content: null, tool_calls: [call] };
    const tool = { role: 'tool', tool_call_id: 'c', content: 'Rain' };
    const { history, prompt } = read(user('Weather?'), called, tool, { ...tool, content: 'Wind' });
    assert.is(textOfParts(prompt), '[look returned]\nRain\n\n[look returned]\nWind');
    assert.equal(
      history.map(({ role, text }) => `${role}: ${text}`),
      ['user: Weather?', 'assistant: [called look with {}]'],
    );
    assert.is(textOfParts(read(user('Weather?'), called, tool, user('And?')).prompt), 'And?');
  });

  check('may be of many parts, and there may be many of them', () => {
    const parts = Array.from({ length: 334 }, () => ({ type: 'text', text: 'x' }));
    const { history, prompt } = read(user(parts), assistant('two'), user(parts), user(parts));
    assert.is(history.length, 2);
    assert.is(prompt.length, 1);
  });

  check('ask something when there is a file and not a word', () => {
    assert.is(read(user([picture])).prompt.length, 1);
  });
});
