import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { createKeyedQueue } from '../../../src/core/keyed-queue.ts';

import { describe, rejection } from '../../check.ts';

const FULL = { kind: 'rate-limited', retryAfterMs: 5000 } as const;
const createTurnQueue = (count: number) => createKeyedQueue({ count, per: 'key', createError: () => new Fault(FULL) });
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const never = new AbortController().signal;

describe('a line for a conversation', (check) => {
  check('lets one in at a time, first come first served', async () => {
    const queue = createTurnQueue(16);
    const seen: number[] = [];
    const tickets = [1, 2, 3].map((number) => {
      const ticket = queue.join('a');
      ticket.waitForTurn(never).then(() => seen.push(number));
      return ticket;
    });
    await turn();
    assert.equal(seen, [1]);
    tickets[0]?.release();
    tickets[0]?.release();
    await turn();
    assert.equal(seen, [1, 2]);
    tickets[1]?.release();
    await turn();
    assert.equal(seen, [1, 2, 3]);
    tickets[2]?.release();
    assert.ok(queue.isFree('a'));
  });

  check('does not keep those of another conversation waiting', async () => {
    const queue = createTurnQueue(16);
    queue.join('a');
    await queue.join('b').waitForTurn(never);
    assert.not.ok(queue.isFree('b'));
    assert.ok(queue.isFree('c'));
  });

  check('forgets who left while waiting, and lets the others in', async () => {
    const queue = createTurnQueue(16);
    const first = queue.join('a');
    const left = new AbortController();
    const gone = queue.join('a').waitForTurn(left.signal);
    const last = queue.join('a').waitForTurn(never);
    left.abort(new Fault({ kind: 'client-left' }));
    assert.equal((await rejection(gone)) instanceof Fault, true);
    first.release();
    await last;
  });

  check('passes on the turn of somebody who leaves in the moment in which it comes', async () => {
    const queue = createTurnQueue(16);
    const first = queue.join('a');
    const left = new AbortController();
    const gone = queue.join('a').waitForTurn(left.signal);
    const last = queue.join('a').waitForTurn(never);
    left.abort(new Fault({ kind: 'client-left' }));
    first.release();
    await rejection(gone);
    await last;
  });

  check('turns away who would wait behind too many', () => {
    const queue = createTurnQueue(2);
    for (const _ of [1, 2, 3]) queue.join('a');
    assert.throws(
      () => queue.join('a'),
      (error: unknown) => error instanceof Fault && error.detail.kind === 'rate-limited',
    );
    queue.join('b');
  });

  check('is nearly free once the only one in it has settled', () => {
    const queue = createTurnQueue(16);
    assert.ok(queue.isNearlyFree('a'));
    const first = queue.join('a');
    assert.not.ok(queue.isNearlyFree('a'));
    first.announceRelease();
    assert.ok(queue.isNearlyFree('a'));
    const second = queue.join('a');
    assert.not.ok(queue.isNearlyFree('a'));
    second.announceRelease();
    first.release();
    assert.not.ok(queue.isNearlyFree('a'), 'the next one has not settled');
  });
});
