import * as assert from 'uvu/assert';
import { withoutApprovals } from '../../../../src/bridge/answer/approvals/history.ts';
import { toProblemText } from '../../../../src/bridge/answer/approvals/replies.ts';
import { splitApprovalText, toApprovalText } from '../../../../src/bridge/answer/approvals/text.ts';
import type { ApprovalRequest } from '../../../../src/bridge/output.ts';
import type { SentMessage } from '../../../../src/bridge/turns/port.ts';
import { describe } from '../../../check.ts';

const request = (id: string, more: Partial<ApprovalRequest> = {}): ApprovalRequest => ({
  ...{ id, sessionID: 'ses_1', tool: 'pay', input: '{"amount":5}', notes: ['who: Bob'] },
  ...more,
});
const PAY = request('per_0001k3F9xQ');
const SEND = request('per_0002aB12cD', { tool: 'send', input: 'a ``` fence\n````', isCut: true });
const user = (text: string): SentMessage => ({ role: 'user', parts: [{ type: 'text', text }] });
const assistant = (text: string): SentMessage => ({ role: 'assistant', text });
const asking = (text: string, ...requests: readonly ApprovalRequest[]): SentMessage =>
  assistant([text, toApprovalText(requests)].filter((one) => one !== '').join('\n\n'));

describe('a history with approvals in it', (check) => {
  check('is taken for what it is where there are none', () => {
    const history = [user('a'), assistant('b'), user('approve of this?'), assistant('Approved: yes. Fine.')];
    assert.equal(withoutApprovals(history), { messages: history, shown: [] });
  });

  check('has neither their texts nor the messages that decided', () => {
    const history = [user('pay'), asking('I pay.', PAY), user('approve k3F9xQ'), assistant('Paid.'), user('thanks')];
    assert.equal(withoutApprovals(history).messages, [user('pay'), assistant('I pay.\n\nPaid.'), user('thanks')]);
  });

  check('has no line about what was decided', () => {
    const line = 'Approved: pay (k3F9xQ). Rejected: send (aB12cD).';
    const decided = [asking('', PAY, SEND), user('approve k3F9xQ\nreject aB12cD'), assistant(`${line}\n\nDone.`)];
    assert.equal(withoutApprovals([user('go'), ...decided]).messages, [user('go'), assistant('Done.')]);
  });

  check('has no text of the bridge about a message that decided nothing', () => {
    const problem = toProblemText({ kind: 'no-id' }, []);
    const history = [
      ...[user('pay'), asking('I pay.', PAY), user('yes'), asking(problem, PAY)],
      ...[user('`approve per_0001k3F9xQ`'), assistant('Paid.')],
    ];
    assert.equal(withoutApprovals(history).messages, [user('pay'), assistant('I pay.\n\nPaid.')]);
  });

  check('keeps a prompt that came instead of a decision', () => {
    const history = [user('pay'), asking('I pay.', PAY), user('Tell a joke'), assistant('Ha.')];
    const expected = [user('pay'), assistant('I pay.'), user('Tell a joke'), assistant('Ha.')];
    assert.equal(withoutApprovals(history).messages, expected);
  });

  check('has no decision that came too late', () => {
    const late = toProblemText({ kind: 'none-open' }, [{ isApproved: true, ids: ['k3F9xQ'] }]);
    const history = [user('pay'), asking('I pay.', PAY), user('approve k3F9xQ'), assistant(`${late}\n\nNot paid.`)];
    assert.equal(withoutApprovals(history).messages, [user('pay'), assistant('I pay.\n\nNot paid.')]);
  });

  check('says which requests its last answer has shown', () => {
    assert.equal(withoutApprovals([user('pay'), asking('I pay.', PAY, SEND)]).shown, ['k3F9xQ', 'aB12cD']);
    assert.equal(withoutApprovals([asking('', PAY), user('approve k3F9xQ'), assistant('Paid.')]).shown, []);
  });

  check('keeps calls and results of the client in their places', () => {
    const calling: SentMessage = { role: 'assistant', calls: [{ id: 'c', name: 'f', arguments: '{}' }] };
    const result: SentMessage = { role: 'tool', callID: 'c', output: '1' };
    const history = [user('a'), calling, result, asking('Now', PAY), user('approve all'), assistant('Done')];
    assert.equal(withoutApprovals(history).messages, [user('a'), calling, result, assistant('Now\n\nDone')]);
  });
});

describe('an approval text', (check) => {
  check('is found at the end of an answer alone', () => {
    const text = toApprovalText([PAY, SEND]);
    assert.equal(splitApprovalText(`Hm.\n\n${text}`).text, 'Hm.');
    assert.equal(
      splitApprovalText(text).requests.map(({ id }) => id),
      ['k3F9xQ', 'aB12cD'],
    );
    const before = `${text}\n\nHm.`;
    assert.equal(splitApprovalText(before), { text: before, requests: [] });
  });
});
