import * as assert from 'uvu/assert';
import { createTurnLog, type TurnLogWriter } from '../../../src/bridge/turn/log.ts';
import type { TextKind } from '../../../src/bridge/turn/log-text.ts';
import { describe } from '../../check.ts';
import { ASK } from '../harness/recorded-outputs.ts';
import { itemsIn } from '../harness/turn-events.ts';

const NOW = { messageID: 'm', kind: 'text' as TextKind, isOver: false };
const CALL = { kind: 'call' as const, id: 'c', call: { id: 'call_c', name: 'look', input: '{}' }, result: undefined };
const STOP = { kind: 'answered', finish: 'stop' } as const;

/** Says a text in one piece. */
const appendText = (writer: TurnLogWriter, id: string, text: string, more: object = {}): void =>
  writer.setText({ ...NOW, id, text, ...more });
const doneIn = ({ log }: TurnLogWriter): readonly string[] =>
  log.items().flatMap((item) => (item.kind !== 'call' && item.isDone ? [item.id] : []));
const openIn = ({ log }: TurnLogWriter): readonly string[] =>
  log.items().flatMap((item) => (item.kind !== 'call' && !item.isDone ? [item.id] : []));

describe('the log of a turn', (check) => {
  check('holds texts and calls in the order in which they began', () => {
    const writer = createTurnLog();
    appendText(writer, 'r', 'Hm', { kind: 'reasoning', isOver: true });
    appendText(writer, 't', 'I look');
    writer.addText('t', '.');
    writer.setCall(CALL);
    writer.setCall({ ...CALL, id: 'd' });
    writer.setCall({ ...CALL, result: { output: 'seen', isError: false } });
    assert.equal(itemsIn(writer.log), ['reasoning: Hm', 'text: I look.', 'call look {}: seen', 'call look {}: ...']);
    assert.ok(writer.hasResult('c'));
    assert.not.ok(writer.hasResult('d') || writer.hasResult('t') || writer.hasResult('nothing'));
  });

  check('holds no empty piece, and nothing of a text that it does not know', () => {
    const writer = createTurnLog();
    appendText(writer, 't', '');
    writer.addText('t', '');
    writer.addText('other', 'words');
    assert.equal(writer.log.items(), [{ kind: 'text', id: 't', pieces: [], isDone: false }]);
  });

  check('knows of which texts its agent has said all', () => {
    const writer = createTurnLog();
    appendText(writer, 't', 'Hel');
    assert.not.ok(writer.isTextOver('t') || writer.isTextOver('nothing'));
    appendText(writer, 't', 'Hello', { isOver: true });
    assert.ok(writer.isTextOver('t'));
  });

  check('ends a text when another begins, also one that its agent has left open', () => {
    const writer = createTurnLog();
    appendText(writer, 'r', 'Hm', { kind: 'reasoning' });
    appendText(writer, 't', 'One');
    assert.equal(doneIn(writer), ['r']);
    appendText(writer, 's', 'Two');
    assert.equal(doneIn(writer), ['r', 't']);
  });

  check('does not end a text that is still spoken for a thought or a call, but one that is over', () => {
    const writer = createTurnLog();
    appendText(writer, 't', 'One');
    appendText(writer, 'r', 'Hm', { kind: 'reasoning' });
    writer.setCall(CALL);
    assert.equal(openIn(writer), ['t', 'r']);
    appendText(writer, 't', 'One.', { isOver: true });
    appendText(writer, 'q', 'Hm again', { kind: 'reasoning' });
    assert.equal(openIn(writer), ['q']);
    appendText(writer, 'q', 'Hm again', { kind: 'reasoning', isOver: true });
    writer.setCall({ ...CALL, result: { output: '', isError: false } });
    assert.equal(openIn(writer), ['q']);
    writer.setCall({ ...CALL, id: 'd' });
    assert.equal(openIn(writer), []);
  });

  check('loses nothing of a text that goes on after it was ended', () => {
    const writer = createTurnLog();
    appendText(writer, 'a', 'One');
    appendText(writer, 'b', 'Two');
    writer.addText('a', ' more');
    appendText(writer, 'b', 'Two more');
    assert.equal(itemsIn(writer.log), ['text: One', 'text: Two', 'text:  more', 'text:  more']);
    assert.equal(
      writer.log.items().map(({ id }) => id),
      ['a', 'b', 'a+2', 'b+2'],
    );
  });

  check('ends the texts of a message with the message', () => {
    const writer = createTurnLog();
    appendText(writer, 't', 'One', { isOver: true });
    appendText(writer, 'r', 'Hm', { kind: 'reasoning', messageID: 'n' });
    writer.endMessage('m');
    assert.equal(openIn(writer), ['r']);
  });

  check('can be cut, and holds what comes then in items of its own', () => {
    const writer = createTurnLog();
    appendText(writer, 't', 'One');
    assert.is(writer.log.closeTexts(), 1);
    assert.equal(doneIn(writer), ['t']);
    writer.addText('t', ' two');
    assert.is(writer.log.closeTexts(), 2);
    assert.equal(itemsIn(writer.log), ['text: One', 'text:  two']);
  });

  check('informs every reader of each change, until it listens no more', () => {
    const writer = createTurnLog();
    const collected: string[] = [];
    const listen = (name: string) => writer.log.subscribe(() => void collected.push(name));
    const leave = listen('a');
    listen('b');
    appendText(writer, 't', 'One');
    writer.addText('t', ' two');
    assert.equal(collected, ['a', 'b', 'a', 'b']);
    leave();
    writer.endMessage('m');
    assert.equal(collected, ['a', 'b', 'a', 'b', 'b']);
  });

  check('tells of a question and of the end who waits for a decision, and of nothing else', async () => {
    const writer = createTurnLog();
    const collected: string[] = [];
    const listen = (name: string): void => void writer.log.nextDecision().then(() => collected.push(name));
    listen('asked');
    appendText(writer, 't', 'One');
    await Promise.resolve();
    assert.equal(collected, []);
    writer.addApprovalRequest(ASK);
    await Promise.resolve();
    listen('answered');
    writer.removeApprovalRequest(ASK.id);
    await Promise.resolve();
    listen('ended');
    writer.finish({ kind: 'answered', finish: 'stop' });
    await Promise.resolve();
    assert.equal(collected, ['asked', 'answered', 'ended']);
  });

  check('holds questions, the oldest first, each once, until they are answered', () => {
    const writer = createTurnLog();
    writer.addApprovalRequest(ASK);
    writer.addApprovalRequest({ ...ASK, id: 'per_2' });
    writer.addApprovalRequest({ ...ASK, tool: 'other' });
    assert.equal(
      writer.log.approvalRequests().map(({ id, tool }) => `${id} ${tool}`),
      [`${ASK.id} other`, 'per_2 relay_recharge'],
    );
    writer.removeApprovalRequest(ASK.id);
    writer.removeApprovalRequest('nothing');
    assert.equal(
      writer.log.approvalRequests().map(({ id }) => id),
      ['per_2'],
    );
  });

  check('ends once, and nothing changes after that', () => {
    const writer = createTurnLog();
    appendText(writer, 't', 'One');
    writer.addApprovalRequest(ASK);
    writer.setUsage({ prompt: 1, cached: 0, cacheWritten: 0, completion: 2, reasoning: 0 });
    writer.finish(STOP);
    assert.equal([doneIn(writer), writer.log.approvalRequests(), writer.log.end()], [['t'], [], STOP]);
    writer.finish({ kind: 'answered', finish: 'length' });
    writer.addText('t', ' two');
    appendText(writer, 's', 'Two');
    writer.setCall(CALL);
    writer.addApprovalRequest(ASK);
    writer.setUsage({ prompt: 5, cached: 0, cacheWritten: 0, completion: 2, reasoning: 0 });
    assert.equal(itemsIn(writer.log), ['text: One']);
    assert.equal([writer.log.approvalRequests(), writer.log.end(), writer.log.usage().prompt], [[], STOP, 1]);
  });
});

/** What an agent tells when a backend breaks off: all is emptied, and said in other texts. */
const emptied = (writer: TurnLogWriter, id: string, more: object = {}): void =>
  appendText(writer, id, '', { isOver: true, ...more });

describe('a text whose backend is asked again', (check) => {
  check('goes on in the same item when it says the same', () => {
    const writer = createTurnLog();
    appendText(writer, 'a', 'Hello wor');
    appendText(writer, 'a', 'Hello wor', { isOver: true });
    emptied(writer, 'a');
    assert.equal(openIn(writer), ['a']);
    appendText(writer, 'b', '');
    for (const word of ['Hello', ' world', '!']) writer.addText('b', word);
    appendText(writer, 'b', 'Hello world!', { isOver: true });
    assert.equal(itemsIn(writer.log), ['text: Hello world!']);
    emptied(writer, 'a');
    writer.addText('a', '?');
    assert.equal(itemsIn(writer.log), ['text: Hello world!']);
  });

  check('is reported in a paragraph of its own when it does not', () => {
    const writer = createTurnLog();
    appendText(writer, 'a', 'Hello wor');
    emptied(writer, 'a');
    appendText(writer, 'b', 'Good day');
    assert.equal(itemsIn(writer.log), ['text: Hello wor\n\nGood day']);
  });

  check('repeats no thought either', () => {
    const writer = createTurnLog();
    appendText(writer, 'r', 'Hm', { kind: 'reasoning' });
    appendText(writer, 'a', 'One');
    emptied(writer, 'r', { kind: 'reasoning' });
    emptied(writer, 'a');
    appendText(writer, 's', 'Hm, so', { kind: 'reasoning' });
    appendText(writer, 'b', 'One two');
    assert.equal(itemsIn(writer.log), ['reasoning: Hm', 'text: One two', 'reasoning: , so']);
  });

  check('takes the place of one text each', () => {
    const writer = createTurnLog();
    appendText(writer, 'a', 'One', { isOver: true });
    appendText(writer, 'b', 'Two', { isOver: true });
    for (const id of ['a', 'b']) emptied(writer, id);
    appendText(writer, 'c', 'One', { isOver: true });
    appendText(writer, 'd', 'Two', { isOver: true });
    appendText(writer, 'e', 'Three', { isOver: true });
    assert.equal(itemsIn(writer.log), ['text: One', 'text: Two', 'text: Three']);
  });

  check('is not taken up by another message', () => {
    const writer = createTurnLog();
    appendText(writer, 'a', 'One');
    emptied(writer, 'a');
    appendText(writer, 'b', 'One', { messageID: 'n' });
    assert.equal(itemsIn(writer.log), ['text: One', 'text: One']);
    assert.equal(doneIn(writer), ['a']);
  });

  check('is ended by a call that comes instead', () => {
    const writer = createTurnLog();
    appendText(writer, 'a', 'One');
    emptied(writer, 'a');
    writer.setCall(CALL);
    assert.equal(doneIn(writer), ['a']);
  });

  check('which had said nothing leaves nothing to be made up for', () => {
    const writer = createTurnLog();
    emptied(writer, 'a');
    appendText(writer, 'b', 'One');
    assert.equal(
      writer.log.items().map(({ id }) => id),
      ['a', 'b'],
    );
  });
});
