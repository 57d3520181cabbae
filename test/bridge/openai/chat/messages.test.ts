import * as assert from 'uvu/assert';
import { parseChatRequest } from '../../../../src/bridge/openai/chat/request.ts';
import { describe } from '../../../check.ts';
import { refusalOf } from '../../harness/recorded-outputs.ts';

const read = (...messages: readonly unknown[]) => parseChatRequest({ messages }, new Headers());
const refused = (...messages: readonly unknown[]) => refusalOf(() => read(...messages));
const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown, more: object = {}) => ({ role: 'assistant', content, ...more });
const tool = (id: string, content: unknown) => ({ role: 'tool', tool_call_id: id, content });
const call = (id: string, name: string, args = '{}') => ({ id, type: 'function', function: { name, arguments: args } });
const PICTURE = 'data:image/png;base64,iVBORw0KGgo=';
const picture = { type: 'image_url', image_url: { url: PICTURE } };
const text = (words: string) => ({ type: 'text', text: words });
const asked = (...parts: readonly unknown[]) => ({ role: 'user', parts });

describe('the messages of a chat', (check) => {
  check('are distinguished into the conversation before and what is asked now', () => {
    const { history, input } = read(user('one'), assistant('two'), user('three'));
    assert.equal(history, [asked(text('one')), { role: 'assistant', text: 'two' }]);
    assert.equal(input, [asked(text('three'))]);
  });

  check('of the user since the last answer are all the prompt, with their files', () => {
    const { history, input, files } = read(user('one'), assistant('two'), user('three'), user([text('four'), picture]));
    assert.is(history.length, 2);
    const file = { type: 'file', at: 'messages[3].content[1].image_url.url', mime: 'image/png', url: PICTURE };
    assert.equal(input, [asked(text('three')), asked(text('four'), file)]);
    assert.equal(files, [file]);
  });

  check('keep calls and results with their roles', () => {
    const { history, input } = read(
      user('one'),
      assistant('I look', { tool_calls: [call('a', 'f', '{"x":1}'), call('b', 'g')] }),
      tool('a', '1'),
      tool('b', [text('2')]),
      assistant('three'),
      user('four'),
    );
    assert.equal(history.slice(1, 4), [
      {
        role: 'assistant',
        text: 'I look',
        calls: [
          { id: 'a', name: 'f', arguments: '{"x":1}' },
          { id: 'b', name: 'g', arguments: '{}' },
        ],
      },
      { role: 'tool', callID: 'a', output: '1' },
      { role: 'tool', callID: 'b', output: '2' },
    ]);
    assert.equal(input, [asked(text('four'))]);
  });

  check('end with results of calls, and with words after them', () => {
    const calling = assistant(null, { tool_calls: [call('a', 'f')] });
    const { history, input } = read(user('one'), calling, tool('a', '1'), user('and?'));
    assert.equal(
      history.map(({ role }) => role),
      ['user', 'assistant'],
    );
    assert.equal(input, [{ role: 'tool', callID: 'a', output: '1' }, asked(text('and?'))]);
  });

  check('have custom calls as calls of one text', () => {
    const calling = assistant(null, { tool_calls: [{ id: 'a', type: 'custom', custom: { name: 'sh', input: 'ls' } }] });
    const { history } = read(user('one'), calling, tool('a', 'x'));
    assert.equal(history.at(-1), {
      role: 'assistant',
      calls: [{ id: 'a', name: 'sh', arguments: '{"input":"ls"}' }],
    });
  });

  check('say nothing where they are empty', () => {
    const { history } = read(user('one'), assistant(' '), user(''), assistant('two'), user('three'));
    assert.equal(
      history.map(({ role }) => role),
      ['user', 'assistant'],
    );
  });

  check('have instructions in any place, which no conversation is recognised by', () => {
    const { system, history } = read({ role: 'system', content: 'A' }, user('one'), assistant('two'), user('three'));
    assert.equal([system, history.length], ['A', 2]);
    assert.is(read(user('one'), { role: 'developer', content: 'B' }).system, 'B');
  });

  check('are refused where there is nothing to answer', () => {
    assert.is(refused(), 'empty_array at messages');
    assert.is(refused(user('')), 'invalid_value at messages[0].content');
    assert.is(
      refused(user('one'), assistant(null, { tool_calls: [call('a', 'f')] })),
      'unsupported_value at messages[1].role',
    );
    assert.is(refused(user('one'), { role: 'tool', content: 'x' }), 'missing_required_parameter at messages[1]');
  });

  check('may begin the answer', () => {
    const { prefill, input } = read(user('one'), assistant('The'));
    assert.equal([prefill, input], ['The', [asked(text('one'))]]);
  });
});
