import * as assert from 'uvu/assert';
import { describe } from '../../../../check.ts';
import { refusalOf } from '../../../harness/recorded-outputs.ts';
import { assistant, read, user } from './world.ts';

const refused = (input: unknown) => refusalOf(() => read(input));
const PIXEL = 'data:image/png;base64,iVBORw0KGgo=';
const text = (words: string) => ({ type: 'text', text: words });
const asked = (...parts: readonly unknown[]) => ({ role: 'user', parts });
const call = (id: string, name = 'f') => ({ type: 'function_call', call_id: id, name, arguments: '{}' });
const output = (id: string, words: string) => ({ type: 'function_call_output', call_id: id, output: words });
const calling = (...ids: readonly string[]) => ({
  role: 'assistant',
  calls: ids.map((id) => ({ id, name: 'f', arguments: '{}' })),
});

describe("the items of a request's input", (check) => {
  check('are one message where they are a text', () => {
    const { history, input } = read('Hello');
    assert.equal([history, input], [[], [asked(text('Hello'))]]);
  });

  check('are the conversation before, and what the user says since', () => {
    const { history, input } = read([
      user('One'),
      assistant([{ type: 'output_text', text: 'Two', annotations: [] }], { id: 'msg_1', status: 'completed' }),
      user([
        { type: 'input_text', text: 'Three' },
        { type: 'input_image', image_url: PIXEL },
      ]),
    ]);
    assert.equal(history, [asked(text('One')), { role: 'assistant', text: 'Two' }]);
    const file = { type: 'file', at: 'input[2].content[1].image_url', mime: 'image/png', url: PIXEL };
    assert.equal(input, [asked(text('Three'), file)]);
  });

  check('of one answer are one message', () => {
    const { history, input } = read([
      ...[user('One'), assistant('I look'), { type: 'reasoning', id: 'rs_1', summary: [] }, call('a'), call('b')],
      ...[output('a', '1'), output('b', '2')],
    ]);
    assert.equal(history, [asked(text('One')), { ...calling('a', 'b'), text: 'I look' }]);
    assert.equal(input, [
      { role: 'tool', callID: 'a', output: '1' },
      { role: 'tool', callID: 'b', output: '2' },
    ]);
  });

  check('may be custom calls', () => {
    const items = [
      { type: 'custom_tool_call', call_id: 'a', name: 'sh', input: 'ls' },
      { type: 'custom_tool_call_output', call_id: 'a', output: 'x' },
    ];
    const { history, input } = read([user('One'), ...items]);
    assert.equal(history.at(-1), {
      role: 'assistant',
      calls: [{ id: 'a', name: 'sh', arguments: '{"input":"ls"}' }],
    });
    assert.equal(input, [{ role: 'tool', callID: 'a', output: 'x' }]);
  });

  check('of tools of other servers are calls with their results', () => {
    const made = { type: 'mcp_call', id: 'mcp_x', name: 'f', arguments: '{}', output: 'done', server_label: 's' };
    const { history } = read([user('One'), made, assistant('Two'), user('Three')]);
    assert.equal(history, [
      asked(text('One')),
      calling('mcp_x'),
      { role: 'tool', callID: 'mcp_x', output: 'done' },
      { role: 'assistant', text: 'Two' },
    ]);
  });

  check('decide on approvals where there is nothing else', () => {
    const item = { type: 'mcp_approval_response', approval_request_id: 'per_1', approve: true };
    assert.equal(read([item]).approvals, [{ isApproved: true, ids: ['per_1'] }]);
    assert.is(read([item, user('and?')]).approvals, undefined);
    assert.is(read([user('approve all')]).approvals, undefined);
  });

  check('are refused where they are no items, or nothing is to be answered', () => {
    assert.is(refused(undefined), 'missing_required_parameter at input');
    assert.is(refused([]), 'empty_array at input');
    assert.is(refused([{ type: 'cat', role: 'user' }]), 'invalid_value at input[0].type');
    assert.is(refused([user('One'), call('a')]), 'unsupported_value at input[1]');
    assert.is(refused([user(' ')]), 'invalid_value at input[0]');
  });
});
