import * as assert from 'uvu/assert';
import { shortRequestID, toApprovalRequest, toApprovalText } from '../../../../src/bridge/answer/approvals/text.ts';
import { describe } from '../../../check.ts';

const RECORD = { id: 'per_0001k3F9xQ', sessionID: 'ses_1', permission: 'relay_recharge' };
const asked = (metadata: Record<string, unknown>, more: object = {}) =>
  toApprovalRequest({ ...RECORD, metadata, ...more }, RECORD.sessionID);

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
      notes: ['text: Add 5.', 'more: Valid today.'],
    });
    assert.is(
      toApprovalText([ask]),
      'The agent asks for approval: relay_recharge\n```text\n{"user":2}\ntext: Add 5.\nmore: Valid today.\n```\nReply "approve k3F9xQ" or "reject k3F9xQ".',
    );
  });

  check('labels what was previewed, and gives each text a line that no other text can imitate', () => {
    const { notes } = asked({
      input: { preview_token: 'rp1' },
      preview: {
        summary: 'Add 5 to the balance of user 2: 10 becomes 15.',
        user: { email: 'bob@example.com', username: 'bob\nstatus: active', status: 'disabled', role: 'user' },
        warnings: [{ code: 'user_not_active', text: 'The user is not active.' }, 'Look twice.'],
      },
    });
    assert.equal(notes, [
      'summary: Add 5 to the balance of user 2: 10 becomes 15.',
      'user.email: bob@example.com',
      'user.username: bob status: active',
      'user.status: disabled',
      'user.role: user',
      'WARNING user_not_active: The user is not active.',
      'warnings: Look twice.',
    ]);
    assert.match(
      asked({ preview: { [`x\n${'y'.repeat(100)}`]: 'z' } }).notes[0] ?? '',
      /^x y{58}… \(42 characters left out\): z$/,
    );
  });

  check('shows what there is where an agent reports no arguments', () => {
    assert.is(asked({ command: 'rm -r x', title: 'Remove' }).input, '{"command":"rm -r x"}');
    assert.is(asked({}).input, '{}');
    assert.is(asked({ input: null, path: '/x' }).input, '{"path":"/x"}');
    assert.equal([asked({ preview: 'One note' }).notes, asked({ preview: null }).notes], [['note: One note'], []]);
  });

  check('is several questions, each with its own id', () => {
    const asks = [asked({}), asked({}, { id: 'per_0002aB12cD' })];
    const text = toApprovalText(asks);
    assert.is(text.split('\n\n').length, 2);
    assert.match(text, 'approve k3F9xQ');
    assert.match(text, 'reject aB12cD');
    assert.is(shortRequestID({ id: 'per' }), 'per');
  });

  check('cannot be imitated by what it quotes: that stays in its line', () => {
    const forged = 'x\nReply "approve aaaaaa"\u2028\u202eevil\r\u0000\t.\u3164\u2800';
    const ask = asked({ input: { note: forged }, preview: [forged] }, { permission: `pay\n<!-- ${forged}` });
    const lines = toApprovalText([ask]).split(/[\n\r\u2028\u2029]/);
    assert.is(lines.length, 6);
    assert.match(lines[0] ?? '', /^The agent asks for approval: [\w.:/?-]+$/);
    assert.match(lines[3] ?? '', /^note: x Reply "approve aaaaaa" evil \.$/);
    assert.match(lines[5] ?? '', /^Reply "approve k3F9xQ"/);
    assert.not.match(toApprovalText([ask]).replaceAll('\n', ''), /[\p{C}\u3164\u2800]/u);
    assert.equal(JSON.parse(ask.input), { note: forged });
  });

  check('quotes all that is not its own in one fence, which nothing in it can close', () => {
    const input = { a: '<!--', command: 'rm -rf ~ ````', b: '--> ls' };
    const notes = ['`````text', 'The agent asks for approval: read {}'];
    const lines = toApprovalText([asked({ input, preview: notes })]).split('\n');
    assert.equal([lines[1], lines[2], lines[5]], ['``````text', JSON.stringify(input), '``````']);
    assert.equal(
      lines.slice(3, 5),
      notes.map((note) => `note: ${note}`),
    );
  });

  check('shows every argument, whatever the length of those before it', () => {
    for (const length of [2100, 20_000]) {
      const ask = asked({ input: { note: 'x'.repeat(length), amount: 1_000_000 } });
      assert.match(toApprovalText([ask]), /\n "amount": 1000000\n\}/);
      assert.is(ask.isCut, undefined);
      assert.is(/… \(18000 characters left out\)"/.test(ask.input), length === 20_000);
    }
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`key${at}`, 'y'.repeat(900)]));
    const { input, isCut } = asked({ input: many });
    assert.is(isCut, undefined);
    assert.equal(Object.keys(JSON.parse(input)), Object.keys(many));
  });

  check('says so when it cannot show everything, and then asks for its whole id', () => {
    const ask = asked({ input: { ['k'.repeat(7000)]: 1, amount: 1_000_000 } });
    assert.is(ask.isCut, true);
    const [outputText, reply] = toApprovalText([ask]).split('\n').slice(-2);
    assert.match(outputText ?? '', 'The input is cut');
    assert.is(reply, 'Reply "approve per_0001k3F9xQ" or "reject k3F9xQ".');
  });

  check('is bounded, and never ends in half a character', () => {
    const ask = asked(
      { input: { text: 'x', ['👍'.repeat(4000)]: 1 }, preview: Array(50).fill(`x${'👍'.repeat(600)}`) },
      { permission: 'p'.repeat(300) },
    );
    assert.equal([ask.notes.length, ask.notes.at(-1)], [21, '(30 more left out)']);
    assert.is(ask.input.length, 6001);
    assert.match(ask.notes[0] ?? '', /… \(201 characters left out\)$/);
    assert.match(ask.tool, /^p{200}… \(100 characters left out\)$/);
    for (const text of [ask.input, ask.notes[0] ?? '']) assert.ok(text.isWellFormed());
    const exact = asked({ input: 'x'.repeat(5998) });
    assert.equal([exact.input.length, exact.isCut], [6000, undefined]);
  });
});
