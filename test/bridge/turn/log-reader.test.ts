import { getEventListeners } from 'node:events';
import * as assert from 'uvu/assert';
import { NO_USAGE } from '../../../src/bridge/output.ts';
import { waitForEach } from '../../../src/bridge/stream/polled-output.ts';
import { createTurnLog, type TurnLogWriter } from '../../../src/bridge/turn/log.ts';
import { readOutput } from '../../../src/bridge/turn/log-reader.ts';
import { LOG_START, type TurnOutcome, waitForOutcome } from '../../../src/bridge/turn/outcome.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { appendText, askNamed, callItem, joinedTexts, NEVER, quiet, readerOf } from '../harness/log-readers.ts';
import { FAILURE } from '../harness/recorded-outputs.ts';

const outputOf = (...given: Parameters<typeof readOutput>) => waitForEach(readOutput(...given));

const STOP = { kind: 'answered', finish: 'stop' } as const;
const ASK = askNamed('per_0001abc123');
const QUESTION = 'closing';

const worldOf = (writer: TurnLogWriter = createTurnLog()) => {
  const clock = createFakeClock();
  const outcomeFrom = (from = LOG_START) => waitForOutcome(writer.log, from, { clock, signal: NEVER });
  const outcome = outcomeFrom();
  const view = (signal = NEVER) => outputOf(writer.log, { from: LOG_START, outcome, signal });
  const next = (from: TurnOutcome) => outputOf(writer.log, { from, outcome: outcomeFrom(from), signal: NEVER });
  return { writer, clock, outcome, view, next };
};

describe('a view of a turn', (check) => {
  check('reads the output as it is written, and ends each item that it has begun', async () => {
    const { writer, view } = worldOf();
    const reader = readerOf(view());
    appendText(writer, 'r', 'Hm', 'reasoning');
    await quiet();
    assert.equal(reader.collected, ['r: Hm']);
    appendText(writer, 't', 'Let');
    await quiet();
    appendText(writer, 't', ' me');
    appendText(writer, 't', ' see');
    await quiet();
    writer.setCall(callItem('c'));
    writer.finish(STOP);
    await reader.over;
    assert.equal(reader.collected, [
      'r: Hm',
      'r.',
      't: Let',
      't:  me see',
      't.',
      '(call_c',
      'call_c) failed It was not done when this answer ended',
      'end stop',
    ]);
  });

  check('gives every reader the same, also one that comes in the middle or after the end', async () => {
    const { writer, view } = worldOf();
    const early = readerOf(view());
    appendText(writer, 't', 'Let');
    await quiet();
    const midway = readerOf(view());
    appendText(writer, 't', ' me');
    await quiet();
    writer.finish({ kind: 'answered', finish: 'length' });
    await early.over;
    const late = readerOf(view());
    await Promise.all([midway.over, late.over]);
    for (const { collected } of [early, midway, late]) {
      assert.equal(joinedTexts(collected), ['t: Let me', 't.', 'end length']);
    }
    assert.equal(late.collected.length, 3);
  });

  check('waits for a slow reader, and loses nothing meanwhile', async () => {
    const { writer, view } = worldOf();
    let go = Promise.withResolvers<void>();
    const slow = readerOf(view(), () => go.promise);
    for (const id of ['a', 'b', 'c']) for (const word of ['1', '2', '3']) appendText(writer, id, word);
    writer.setCall(callItem('x', 'seen'));
    await quiet();
    assert.equal(slow.collected, ['a: 123']);
    writer.finish(STOP);
    const open = go;
    go = Promise.withResolvers<void>();
    go.resolve();
    open.resolve();
    await slow.over;
    assert.equal(slow.collected, [
      'a: 123',
      'a.',
      'b: 123',
      'b.',
      'c: 123',
      'c.',
      '(call_x',
      'call_x) seen',
      'end stop',
    ]);
  });

  check('gives a slow reader what it missed of a text that was begun anew', async () => {
    const { writer, view } = worldOf();
    appendText(writer, 'a', 'One');
    const reader = readerOf(view());
    await quiet();
    writer.setText({ id: 'a', messageID: 'm', kind: 'text', text: 'Two', isOver: true });
    writer.finish(STOP);
    await reader.over;
    const late = readerOf(view());
    await late.over;
    for (const { collected } of [reader, late])
      assert.equal(joinedTexts(collected), ['a: One\n\nTwo', 'a.', 'end stop']);
  });

  check('gives calls that run beside each other, each once and with its own outcome', async () => {
    const { writer, view } = worldOf();
    const reader = readerOf(view());
    for (const id of ['c', 'd']) writer.setCall(callItem(id));
    await quiet();
    writer.setCall(callItem('d', 'two'));
    await quiet();
    appendText(writer, 't', 'So');
    await quiet();
    writer.setCall(callItem('c', 'one'));
    writer.setCall(callItem('d', 'two'));
    await quiet();
    assert.equal(reader.collected, ['(call_c', '(call_d', 'call_d) two', 't: So', 'call_c) one']);
    writer.finish(STOP);
    await reader.over;
    assert.equal(reader.collected.slice(5), ['t.', 'end stop']);
  });

  check('says nothing of a text in which there is nothing', async () => {
    const { writer, view } = worldOf();
    const reader = readerOf(view());
    appendText(writer, 'a', '');
    await quiet();
    appendText(writer, 'b', 'One');
    writer.finish(STOP);
    await reader.over;
    assert.equal(reader.collected, ['b: One', 'b.', 'end stop']);
  });

  check('ends with the failure of its turn, and reports no call as done that was not', async () => {
    const { writer, view } = worldOf();
    appendText(writer, 't', 'One');
    writer.setCall(callItem('c'));
    writer.setCall(callItem('d', 'two'));
    writer.finish({ kind: 'failed', failure: FAILURE });
    const reader = readerOf(view());
    await reader.over;
    assert.equal(reader.collected, [
      't: One',
      't.',
      '(call_c',
      '(call_d',
      'call_d) two',
      'call_c) failed It was not done when this answer ended',
      'failure model_error',
    ]);
  });

  check('does not end before its outcome is settled', async () => {
    const writer = createTurnLog();
    const kept = Promise.withResolvers<TurnOutcome>();
    const reader = readerOf(outputOf(writer.log, { from: LOG_START, outcome: kept.promise, signal: NEVER }));
    appendText(writer, 't', 'One');
    writer.finish(STOP);
    await quiet();
    assert.equal(reader.collected, ['t: One', 't.']);
    kept.resolve({ items: 1, usage: NO_USAGE, last: { kind: 'failure', failure: FAILURE }, closing: '' });
    await reader.over;
    assert.equal(reader.collected.at(-1), 'failure model_error');
  });

  check('fails with its outcome, also while nothing happens', async () => {
    const writer = createTurnLog();
    const kept = Promise.withResolvers<TurnOutcome>();
    const reader = readerOf(outputOf(writer.log, { from: LOG_START, outcome: kept.promise, signal: NEVER }));
    await quiet();
    kept.reject(new Error('a bug'));
    assert.is(((await rejection(reader.over)) as Error).message, 'a bug');
  });
});

describe('a view that is left', (check) => {
  check('rejects with the reason at once, and listens to nothing any more', async () => {
    const { writer, view } = worldOf();
    const leaving = new AbortController();
    const reader = readerOf(view(leaving.signal));
    appendText(writer, 't', 'One');
    await quiet();
    assert.is(getEventListeners(leaving.signal, 'abort').length, 1);
    leaving.abort('gone');
    assert.is(await rejection(reader.over), 'gone');
    assert.is(getEventListeners(leaving.signal, 'abort').length, 0);
    assert.equal(reader.collected, ['t: One']);
  });

  check('gives nothing of what it still had to give', async () => {
    const { writer, view } = worldOf();
    for (const id of ['a', 'b']) appendText(writer, id, 'One');
    writer.finish(STOP);
    const leaving = new AbortController();
    const outputEvents = view(leaving.signal);
    await outputEvents.next();
    leaving.abort('gone');
    assert.is(await rejection(outputEvents.next()), 'gone');
  });

  check('listens to nothing any more after its end', async () => {
    const { writer, view } = worldOf();
    const { signal } = new AbortController();
    const reader = readerOf(view(signal));
    for (let count = 0; count < 50; count++) {
      appendText(writer, 't', 'One');
      await quiet();
    }
    assert.is(getEventListeners(signal, 'abort').length, 1);
    writer.finish(STOP);
    await reader.over;
    assert.is(getEventListeners(signal, 'abort').length, 0);
  });

  check('needs no reason to be given', async () => {
    const { writer, view } = worldOf();
    appendText(writer, 't', 'One');
    const outputEvents = view();
    await outputEvents.next();
    await outputEvents.return(undefined);
    assert.equal(await outputEvents.next(), { done: true, value: undefined });
  });
});

describe('a question in the middle of a turn', (check) => {
  check('ends the answer, and the next one goes on after it', async () => {
    const { writer, clock, outcome, view, next } = worldOf();
    const first = readerOf(view());
    appendText(writer, 't', 'I pay.');
    writer.setCall(callItem('c'));
    await quiet();
    writer.addApprovalRequest(ASK);
    await clock.advance(200);
    await first.over;
    assert.equal(first.collected.slice(0, 3), ['t: I pay.', 't.', '(call_c']);
    assert.match(
      first.collected[4] ?? '',
      /^closing: The agent asks for approval: pay\n```text\n\{\}\n```\nReply "approve abc123"/,
    );
    assert.equal(
      [first.collected[3], ...first.collected.slice(5)],
      ['call_c) waiting It was not done when this answer ended', `${QUESTION}.`, `end stop ${ASK.id}`],
    );
    writer.removeApprovalRequest(ASK.id);
    const second = readerOf(next(await outcome));
    writer.setCall(callItem('c', 'paid'));
    appendText(writer, 'u', 'Paid.');
    writer.finish(STOP);
    await second.over;
    assert.equal(second.collected, ['(call_c', 'u: Paid.', 'u.', 'call_c) paid', 'end stop']);
    const again = readerOf(view());
    await again.over;
    assert.equal(joinedTexts(again.collected).length, first.collected.length);
    assert.equal(again.collected.at(-1), first.collected.at(-1));
  });

  check('cuts a text that is still said, and the next answer has the rest', async () => {
    const { writer, clock, outcome, view, next } = worldOf();
    const first = readerOf(view());
    appendText(writer, 't', 'I pay');
    await quiet();
    writer.addApprovalRequest(ASK);
    appendText(writer, 't', ' five');
    await clock.advance(99);
    appendText(writer, 't', ' to');
    await clock.advance(1);
    appendText(writer, 't', ' user 2');
    await first.over;
    assert.equal(joinedTexts(first.collected).slice(0, 2), ['t: I pay five to', 't.']);
    writer.removeApprovalRequest(ASK.id);
    const second = readerOf(next(await outcome));
    appendText(writer, 't', '.');
    writer.finish(STOP);
    await second.over;
    assert.equal(joinedTexts(second.collected), ['t+2:  user 2.', 't+2.', 'end stop']);
  });

  check('ends for a slow reader where the answer has ended, however far its turn has gone since', async () => {
    const { writer, clock, outcome, view } = worldOf();
    const go = Promise.withResolvers<void>();
    const slow = readerOf(view(), () => go.promise);
    for (const id of ['a', 'b']) appendText(writer, id, 'One');
    writer.addApprovalRequest(ASK);
    await clock.advance(100);
    await outcome;
    writer.removeApprovalRequest(ASK.id);
    appendText(writer, 'b', ' two');
    appendText(writer, 'c', 'Three');
    writer.finish(STOP);
    go.resolve();
    await slow.over;
    assert.equal(
      [slow.collected.slice(0, 4), slow.collected.at(-1)],
      [['a: One', 'a.', 'b: One', 'b.'], `end stop ${ASK.id}`],
    );
    assert.is(slow.collected.length, 7);
  });

  check('that is answered by somebody else is not reported', async () => {
    const { writer, clock, view } = worldOf();
    const reader = readerOf(view());
    appendText(writer, 't', 'I pay');
    writer.addApprovalRequest(ASK);
    await clock.advance(50);
    assert.equal(reader.collected, []);
    writer.removeApprovalRequest(ASK.id);
    await clock.advance(100);
    appendText(writer, 't', ' five');
    writer.finish(STOP);
    await reader.over;
    assert.equal(joinedTexts(reader.collected), ['t: I pay five', 't.', 'end stop']);
  });
});
