import * as assert from 'uvu/assert';
import { createDeadline } from '../../../../src/core/async.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { createSemaphore } from '../../../../src/core/semaphore.ts';
import { describe, rejection } from '../../../check.ts';
import { reset } from '../../../llm/scripted-client.ts';
import { get, NEVER, ok, problemOf, relayWorld, WRITE } from './world.ts';

describe('the gate', (check) => {
  check('that is full makes a read and a look at health busy, and nothing is sent', async () => {
    const { relay, calls } = relayWorld(() => 'silence', { gate: createSemaphore(1, 0) });
    const caller = new AbortController();
    const first = rejection(relay.get('users/7', {}, caller.signal));
    assert.equal(await problemOf(get(relay)), { kind: 'busy' });
    assert.equal(await problemOf(relay.health(NEVER)), { kind: 'busy' });
    assert.is(calls.length, 1);
    caller.abort(new Fault({ kind: 'client-left' }));
    await first;
  });

  check('lets a change past: what was confirmed does not wait behind reads', async () => {
    const { relay } = relayWorld((sent) => (sent.method === 'GET' ? 'silence' : ok({ id: 7 })), {
      gate: createSemaphore(1, 0),
    });
    const caller = new AbortController();
    const first = rejection(relay.get('users/7', {}, caller.signal));
    assert.is((await relay.send(WRITE, NEVER)).kind, 'accepted');
    caller.abort(new Fault({ kind: 'client-left' }));
    await first;
  });

  check('gets its place back whatever becomes of a read', async () => {
    const gate = createSemaphore(1, 0);
    for (const step of [ok(1), { status: 404 }, { status: 302 }, reset('ANSWER_TOO_LARGE'), new TypeError('bug')]) {
      const { relay } = relayWorld([step], { gate });
      await get(relay).catch(() => {});
      assert.is(gate.running(), 0);
    }
  });

  check('keeps no one in line who has left', async () => {
    const gate = createSemaphore(1, 5);
    const { relay } = relayWorld(() => 'silence', { gate });
    const [first, second] = [new AbortController(), new AbortController()];
    const [running, queued] = [first, second].map(({ signal }) => rejection(relay.get('users/7', {}, signal)));
    assert.is(gate.waiting(), 1);
    second.abort(new Fault({ kind: 'client-left' }));
    await queued;
    assert.equal([gate.running(), gate.waiting()], [1, 0]);
    first.abort(new Fault({ kind: 'client-left' }));
    await running;
    assert.is(gate.running(), 0);
  });
});

describe('a caller', (check) => {
  check('that has left is not asked for', async () => {
    const { relay, calls } = relayWorld(() => ok(1));
    const reason = new Fault({ kind: 'client-left' });
    assert.is(await rejection(relay.get('users/7', {}, AbortSignal.abort(reason))), reason);
    assert.is(await rejection(relay.health(AbortSignal.abort(reason))), reason);
    assert.is(calls.length, 0);
  });

  check('whose time is over learns so, and the call that was made for it ends', async () => {
    const { relay, calls, clock, gate } = relayWorld(() => 'silence');
    const deadline = createDeadline(clock, 5000);
    const error = rejection(relay.get('users/7', {}, deadline.signal));
    await clock.advance(5000);
    assert.instance(await error, Fault);
    assert.is(calls[0]?.end, 'aborted');
    assert.is(calls.length, 1);
    assert.is(gate.running(), 0);
  });
});
