import * as assert from 'uvu/assert';
import { describe } from '../../../../check.ts';
import { inShort, responseID } from '../world.ts';
import { assistant, read, user } from './world.ts';

const reference = (id: string) => ({ type: 'item_reference', id });

describe('items that a client names and does not send', (check) => {
  const afterResponse = (count = 1) => ({ kind: 'after', responseID: responseID(count) });
  const ours = (kind: string, index: number, count = 1) => reference(`${kind}_${index}_${responseID(count)}`);

  check('show which answer the user goes on from', () => {
    const {
      previousResponse: after,
      history,
      input,
    } = read([
      user('One'),
      ours('rs', 0),
      ours('msg', 1),
      user('Two'),
      ours('msg', 0, 2),
      ours('mcp', 1, 2),
      user('Three'),
    ]);
    assert.equal([after, history, inShort(input)], [afterResponse(2), [], [{ role: 'user', text: 'Three' }]]);
  });

  check('need no type', () => {
    const { previousResponse } = read([user('One'), { id: `msg_0_${responseID()}` }, user('Two')]);
    assert.equal(previousResponse, afterResponse());
  });

  check('may be parts of an answer, by whose ids it is found', () => {
    const itemID = 'msg_0123456789abcdef_fedcba9876543210';
    const { previousResponse, history } = read([user('One'), reference(itemID), user('Two')]);
    assert.equal([previousResponse, history], [{ kind: 'after-item', itemID }, []]);
  });

  check('keep the conversation after that answer', () => {
    const { previousResponse: after, history } = read([
      user('One'),
      ours('msg', 0),
      assistant('the rest of it'),
      user('Two'),
      assistant('From elsewhere'),
      user('Three'),
    ]);
    assert.equal(after, afterResponse());
    assert.equal(inShort(history), [
      { role: 'user', text: 'Two' },
      { role: 'assistant', text: 'From elsewhere' },
    ]);
  });

  check('matter only where words are missing', () => {
    const { previousResponse: after, history } = read([
      user('One'),
      ours('rs', 0),
      ours('mcp', 1),
      assistant('All of it'),
      user('Two'),
    ]);
    assert.is(after, undefined);
    assert.equal(inShort(history), [
      { role: 'user', text: 'One' },
      { role: 'assistant', text: 'All of it' },
    ]);
  });

  check('of others are missed where they are messages, and only since the last answer of ours', () => {
    assert.is(read([user('One'), reference('msg_abc'), user('Two')]).unknownItemAt, 'input[1].id');
    assert.is(read([user('One'), reference('msg_0_abc'), user('Two')]).unknownItemAt, 'input[1].id');
    assert.is(read([user('One'), reference('rs_abc'), assistant('x'), user('Two')]).unknownItemAt, undefined);
    assert.is(
      read([user('One'), reference('msg_abc'), user('Two'), ours('msg', 0), user('Three')]).unknownItemAt,
      undefined,
    );
  });
});
