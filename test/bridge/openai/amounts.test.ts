import * as assert from 'uvu/assert';
import { refuseTooMany } from '../../../src/bridge/openai/body.ts';
import { parseNewItems } from '../../../src/bridge/openai/conversations/new-items.ts';
import { describe } from '../../check.ts';
import { refusalOf } from '../harness/recorded-outputs.ts';

const refused = (list: unknown) => refusalOf(() => refuseTooMany(list, 'messages'));
const times = (length: number, item: unknown) => Array.from({ length }, () => item);
const PART = { type: 'text', text: 'x' };

describe('how much a request may hold', (check) => {
  check('is two thousand messages, of one part each if a client likes', () => {
    refuseTooMany(times(2000, { role: 'user', content: [PART] }), 'messages');
    assert.is(refused(times(2001, 'x')), 'invalid_value at messages');
  });

  check('is a thousand parts more, wherever they are', () => {
    const halves = [{ content: times(501, PART) }, { output: times(501, PART) }];
    refuseTooMany(halves, 'messages');
    assert.is(refused([...halves, { tool_calls: [1, 2] }]), 'invalid_value at messages[2].tool_calls');
    assert.is(refused([{ content: times(1002, PART) }]), 'invalid_value at messages[0].content');
    assert.is(refused([{}, { output: times(1002, PART) }]), 'invalid_value at messages[1].output');
  });

  check('is the same for the items of a conversation', () => {
    const refusedItem = (item: object) => refusalOf(() => parseNewItems([item], () => 'call_1'));
    const many = times(1002, { type: 'input_text', text: 'x' });
    assert.is(refusedItem({ role: 'user', content: many }), 'invalid_value at items[0].content');
    const output = { type: 'function_call_output', call_id: 'c', output: many };
    assert.is(refusedItem(output), 'invalid_value at items[0].output');
    assert.is(refusedItem({ type: 'reasoning', summary: many }), 'invalid_value at items[0].summary');
  });

  check('is for others to say of what is no list, or holds none', () => {
    for (const list of [undefined, null, 'words', {}, [null, 'x', 5, [], { content: 'x' }]])
      refuseTooMany(list, 'messages');
  });
});
