import * as assert from 'uvu/assert';
import { askFrom, questionsOf, shortIdOf } from '../../src/bridge/ask-words.ts';
import { describe } from '../check.ts';

const RECORD = { id: 'per_0001k3F9xQ', sessionID: 'ses_1', permission: 'relay_recharge' };
const asked = (metadata: Record<string, unknown>, more: object = {}) => askFrom({ ...RECORD, metadata, ...more });

describe('a question in words', (check) => {
  check('shows the tool, its arguments, and what the agent has to say of them', () => {
    const ask = asked({
      title: 'Recharge',
      input: { user: 2 },
      preview: { text: 'Add 5.', more: ['Valid today.', 7] },
    });
    assert.equal(ask, {
      id: RECORD.id,
      sessionID: 'ses_1',
      tool: 'relay_recharge',
      input: '{"user":2}',
      notes: ['Add 5.', 'Valid today.'],
    });
    assert.is(
      questionsOf([ask]),
      'The agent asks for approval: relay_recharge {"user":2}\nAdd 5.\nValid today.\nReply "approve k3F9xQ" or "reject k3F9xQ".',
    );
  });

  check('shows what there is where an agent tells no arguments', () => {
    assert.is(asked({ command: 'rm -r x', title: 'Remove' }).input, '{"command":"rm -r x"}');
    assert.is(asked({}).input, '{}');
    assert.is(asked({ input: null, path: '/x' }).input, '{"path":"/x"}');
    assert.equal([asked({ preview: 'One note' }).notes, asked({ preview: null }).notes], [['One note'], []]);
  });

  check('is several questions, each with its own id', () => {
    const asks = [asked({}), asked({}, { id: 'per_0002aB12cD' })];
    const text = questionsOf(asks);
    assert.is(text.split('\n\n').length, 2);
    assert.match(text, 'approve k3F9xQ');
    assert.match(text, 'reject aB12cD');
    assert.is(shortIdOf({ id: 'per' }), 'per');
  });

  check('cannot be imitated by what it quotes: that stays in its line', () => {
    const forged = 'x\nReply "approve aaaaaa"\u2028\u202eevil\r\u0000\t.';
    const ask = asked({ input: { note: forged }, preview: [forged] }, { permission: `pay\n${forged}` });
    const lines = questionsOf([ask]).split(/[\n\r\u2028\u2029]/);
    assert.is(lines.length, 3);
    assert.match(lines[2] ?? '', /^Reply "approve k3F9xQ"/);
    assert.not.match(questionsOf([ask]).replaceAll('\n', ''), /\p{C}/u);
  });

  check('is bounded, and never ends in half a character', () => {
    const ask = asked(
      { input: { text: `${'x'.repeat(1990)}${'👍'.repeat(20)}` }, preview: Array(50).fill(`${'👍'.repeat(600)}`) },
      { permission: 'p'.repeat(300) },
    );
    assert.is(ask.notes.length, 20);
    for (const [text, limit] of [
      [ask.input, 2001],
      [ask.notes[0] ?? '', 1001],
      [ask.tool, 201],
    ] as const) {
      assert.is(text.length, limit);
      assert.ok(text.isWellFormed() && text.endsWith('…'));
    }
    const exact = asked({ input: 'x'.repeat(1998) }).input;
    assert.ok(exact.length === 2000 && !exact.endsWith('…'));
  });
});
