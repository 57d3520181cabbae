import { getEventListeners } from 'node:events';
import * as assert from 'uvu/assert';
import { createDeadline, untilAborted } from '../../src/core/async.ts';
import { Fault } from '../../src/core/fault.ts';
import { describe, rejection } from '../check.ts';
import { createFakeClock } from '../fake-clock.ts';

const reasonOf = ({ reason }: AbortSignal): string => (reason instanceof Fault ? reason.detail.kind : String(reason));
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

const deadlineOf = (limitMs: number) => {
  const clock = createFakeClock();
  const client = new AbortController();
  return { clock, client, deadline: createDeadline(clock, limitMs, client.signal) };
};

describe('a deadline', (check) => {
  check('passes at its limit and not a millisecond before', async () => {
    const { clock, deadline } = deadlineOf(1000);
    await clock.advance(999);
    assert.is(deadline.signal.aborted, false);
    assert.is(deadline.remainingMs(), 1);
    await clock.advance(1);
    assert.is(deadline.signal.aborted, true);
    assert.is(reasonOf(deadline.signal), 'backend-timeout');
    assert.is(deadline.remainingMs(), 0);
  });

  check('never has less than nothing left', async () => {
    const { clock, deadline } = deadlineOf(1000);
    await clock.advance(5000);
    assert.is(deadline.remainingMs(), 0);
  });

  check('that allows no time has passed as soon as time moves', async () => {
    const { clock, deadline } = deadlineOf(0);
    assert.is(deadline.remainingMs(), 0);
    await clock.advance(0);
    assert.is(reasonOf(deadline.signal), 'backend-timeout');
  });

  check('ends when the client leaves, whatever the client gives for a reason', () => {
    const { client, deadline } = deadlineOf(1000);
    client.abort('a reason of its own');
    assert.is(reasonOf(deadline.signal), 'client-left');
  });

  check('has ended before it began for a client that is already gone', () => {
    const client = AbortSignal.abort();
    const deadline = createDeadline(createFakeClock(), 1000, client);
    assert.is(reasonOf(deadline.signal), 'client-left');
    assert.is(listeners(client), 0);
  });

  check('keeps its first reason', async () => {
    const late = deadlineOf(1000);
    await late.clock.advance(1000);
    late.client.abort();
    late.deadline.end();
    assert.is(reasonOf(late.deadline.signal), 'backend-timeout');
    const left = deadlineOf(1000);
    left.client.abort();
    await left.clock.advance(1000);
    assert.is(reasonOf(left.deadline.signal), 'client-left');
  });

  check('needs no client', async () => {
    const clock = createFakeClock();
    const { signal } = createDeadline(clock, 10);
    await clock.advance(10);
    assert.is(reasonOf(signal), 'backend-timeout');
  });

  check('once cleared leaves no timer and no listener, and aborts nothing', async () => {
    const { clock, client, deadline } = deadlineOf(1000);
    assert.is(clock.pending(), 1);
    assert.is(listeners(client.signal), 1);
    deadline.clear();
    deadline.clear();
    assert.is(clock.pending(), 0);
    assert.is(listeners(client.signal), 0);
    client.abort();
    await clock.advance(5000);
    assert.is(deadline.signal.aborted, false);
  });

  check('once ended has aborted what runs under it and leaves nothing behind', () => {
    const { clock, client, deadline } = deadlineOf(1000);
    deadline.end();
    assert.is(reasonOf(deadline.signal), 'client-left');
    assert.is(clock.pending(), 0);
    assert.is(listeners(client.signal), 0);
  });

  check('of a client already gone leaves no timer once cleared', () => {
    const clock = createFakeClock();
    createDeadline(clock, 1000, AbortSignal.abort()).clear();
    assert.is(clock.pending(), 0);
  });
});

describe('waiting under a signal', (check) => {
  check('gives what the promise gives and lets go of the signal', async () => {
    const { signal } = new AbortController();
    const waiting = untilAborted(Promise.resolve('done'), signal);
    assert.is(listeners(signal), 1);
    assert.is(await waiting, 'done');
    await createFakeClock().advance(0);
    assert.is(listeners(signal), 0);
  });

  check('fails as the promise fails and lets go of the signal', async () => {
    const { signal } = new AbortController();
    const bug = new Error('bug');
    assert.is(await rejection(untilAborted(Promise.reject(bug), signal)), bug);
    await createFakeClock().advance(0);
    assert.is(listeners(signal), 0);
  });

  check('ends with the reason of the signal, though the promise goes on', async () => {
    const controller = new AbortController();
    const waiting = untilAborted(new Promise(() => {}), controller.signal);
    const reason = new Fault({ kind: 'client-left' });
    controller.abort(reason);
    assert.is(await rejection(waiting), reason);
    assert.is(listeners(controller.signal), 0);
  });

  check('ends at once under a signal that was aborted before', async () => {
    const reason = new Fault({ kind: 'backend-timeout' });
    const signal = AbortSignal.abort(reason);
    assert.is(await rejection(untilAborted(new Promise(() => {}), signal)), reason);
    assert.is(await rejection(untilAborted(Promise.resolve('too late'), signal)), reason);
    assert.is(listeners(signal), 0);
  });

  check('receives a failure that comes too late, so that it cannot end the process', async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', listen);
    try {
      const before = Promise.withResolvers<never>();
      const reason = new Fault({ kind: 'client-left' });
      assert.is(await rejection(untilAborted(before.promise, AbortSignal.abort(reason))), reason);
      before.reject(new Error('late'));
      const controller = new AbortController();
      const during = Promise.withResolvers<never>();
      const waiting = untilAborted(during.promise, controller.signal);
      controller.abort(reason);
      assert.is(await rejection(waiting), reason);
      during.reject(new Error('late'));
      await createFakeClock().advance(0);
      assert.equal(unhandled, []);
    } finally {
      process.off('unhandledRejection', listen);
    }
  });
});
