import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { createSemaphore } from '../../../src/core/semaphore.ts';
import { createChangeQueue } from '../../../src/relay-admin/change/serialize.ts';
import { RelayError } from '../../../src/relay-admin/errors/errors.ts';
import { describe, rejection } from '../../check.ts';

const NEVER = new AbortController().signal;
const LEFT = new Fault({ kind: 'client-left' });

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Whether a promise has been fulfilled by now. */
const isIn = async (promise: Promise<unknown>): Promise<boolean> => {
  let isSettled = false;
  void promise.then(() => {
    isSettled = true;
  });
  await turn();
  return isSettled;
};

const createWorld = (places: number, waiting = 10) => {
  const changes = createSemaphore(places, waiting);
  return { changes, turns: createChangeQueue({ changes }) };
};

describe('turns for changes', (check) => {
  check('free the subject of who got no place in time, and take the one who left out of the queue', async () => {
    const { turns, changes } = createWorld(1);
    const leave = await turns.acquire('7', NEVER);
    const caller = new AbortController();
    const second = rejection(turns.acquire('8', caller.signal));
    const third = turns.acquire('8', NEVER);
    await turn();
    caller.abort(LEFT);
    assert.is(await second, LEFT);
    assert.not(await isIn(third));
    assert.is(changes.waiting(), 1);
    leave();
    assert.ok(await isIn(third));
  });

  check('are busy when too many wait for a place, and free the subject then', async () => {
    const { turns } = createWorld(1, 1);
    const leave = await turns.acquire('7', NEVER);
    const waiting = turns.acquire('8', NEVER);
    await turn();
    const error = await rejection(turns.acquire('9', NEVER));
    assert.instance(error, RelayError);
    assert.equal((error as RelayError).detail, { kind: 'busy' });
    leave();
    (await waiting)();
    (await turns.acquire('9', NEVER))();
  });

  check('give subject and place back once, however often they are given back', async () => {
    const { turns, changes } = createWorld(1);
    const leave = await turns.acquire('7', NEVER);
    leave();
    leave();
    assert.is(changes.running(), 0);
    await turns.acquire('7', NEVER);
    leave();
    assert.is(changes.running(), 1);
    assert.not(await isIn(turns.acquire('7', NEVER)));
  });
});
