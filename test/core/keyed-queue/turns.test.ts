import * as assert from 'uvu/assert';
import { describe, rejection } from '../../check.ts';
import { createTurns, LEFT, LIMIT, NEVER, QueueFull, turn } from './world.ts';

describe('turns', (check) => {
  check('give a free subject at once', async () => {
    const turns = createTurns();
    const free = await turns.acquire('7', NEVER);
    free();
    (await turns.acquire('7', NEVER))();
  });

  check('let another subject pass', async () => {
    const turns = createTurns();
    await turns.acquire('7', NEVER);
    await turns.acquire('8', NEVER);
    await turns.acquire('', NEVER);
    await turns.acquire('__proto__', NEVER);
  });

  check('come in the order in which they were asked for, one at a time', async () => {
    const turns = createTurns();
    const reported: number[] = [];
    const frees = new Map<number, () => void>();
    for (const index of [0, 1, 2, 3]) {
      void turns.acquire('7', NEVER).then((free) => {
        reported.push(index);
        frees.set(index, free);
      });
    }
    for (const index of [0, 1, 2, 3]) {
      await turn();
      assert.equal(reported, [0, 1, 2, 3].slice(0, index + 1));
      frees.get(index)?.();
    }
  });

  check('are given back once, however often they are given back', async () => {
    const turns = createTurns();
    const first = await turns.acquire('7', NEVER);
    const waiting = [turns.acquire('7', NEVER), turns.acquire('7', NEVER)];
    let admitted = 0;
    for (const one of waiting) void one.then(() => (admitted += 1));
    first();
    first();
    first();
    await turn();
    assert.is(admitted, 1);
    (await waiting[0])?.();
    await turn();
    first();
    assert.is(admitted, 2);
    // The second still holds it: nobody else gets in beside it.
    const third = turns.acquire('7', NEVER).then(() => (admitted += 1));
    first();
    await turn();
    assert.is(admitted, 2);
    (await waiting[1])?.();
    await third;
  });

  check('given back twice do not free what somebody else took since', async () => {
    const turns = createTurns();
    const first = await turns.acquire('7', NEVER);
    first();
    const second = await turns.acquire('7', NEVER);
    first();
    let isAdmitted = false;
    void turns.acquire('7', NEVER).then(() => (isAdmitted = true));
    await turn();
    assert.not(isAdmitted);
    second();
    await turn();
    assert.ok(isAdmitted);
  });

  check('are not for who has left already', async () => {
    const turns = createTurns();
    assert.is(await rejection(turns.acquire('7', AbortSignal.abort(LEFT))), LEFT);
    (await turns.acquire('7', NEVER))();
  });

  check('skip one that left while in line, and reject it with the reason', async () => {
    const turns = createTurns();
    const first = await turns.acquire('7', NEVER);
    const caller = new AbortController();
    const second = rejection(turns.acquire('7', caller.signal));
    const third = turns.acquire('7', NEVER);
    caller.abort(LEFT);
    assert.is(await second, LEFT);
    first();
    (await third)();
    (await turns.acquire('7', NEVER))();
  });

  check('are free again when everybody in line has left', async () => {
    const turns = createTurns();
    const first = await turns.acquire('7', NEVER);
    const caller = new AbortController();
    const left = [1, 2, 3].map(() => rejection(turns.acquire('7', caller.signal)));
    caller.abort(LEFT);
    await Promise.all(left);
    first();
    (await turns.acquire('7', NEVER))();
  });

  check('stay with who has one and leaves then, until it is given back', async () => {
    const turns = createTurns();
    const caller = new AbortController();
    const free = await turns.acquire('7', caller.signal);
    const waiter = new AbortController();
    const second = turns.acquire('7', waiter.signal);
    caller.abort(LEFT);
    let isAdmitted = false;
    void second.then(() => (isAdmitted = true));
    await turn();
    assert.not(isAdmitted);
    free();
    const freeSecond = await second;
    // Its signal is of no more use, and its end frees nothing.
    waiter.abort(LEFT);
    const third = turns.acquire('7', NEVER);
    freeSecond();
    (await third)();
  });

  check('let a bounded number wait, over all subjects, and are busy for the next', async () => {
    const turns = createTurns();
    const caller = new AbortController();
    const frees = [await turns.acquire('7', NEVER), await turns.acquire('8', NEVER)];
    const waiting = Array.from({ length: LIMIT }, (_, index) =>
      rejection(turns.acquire(index % 2 === 0 ? '7' : '8', caller.signal)),
    );
    for (const subject of ['7', '8']) {
      const error = await rejection(turns.acquire(subject, NEVER));
      assert.instance(error, QueueFull);
    }
    // Nobody has to wait for a free one.
    (await turns.acquire('9', NEVER))();
    caller.abort(LEFT);
    await Promise.all(waiting);
    for (const free of frees) free();
    (await turns.acquire('7', NEVER))();
  });

  check('have a place in line again for each that was served or left', async () => {
    const turns = createTurns();
    let free = await turns.acquire('7', NEVER);
    const line: Promise<() => void>[] = Array.from({ length: LIMIT }, () => turns.acquire('7', NEVER));
    for (const next of line) {
      free();
      free = await next;
      const caller = new AbortController();
      const extra = rejection(turns.acquire('7', caller.signal));
      caller.abort(LEFT);
      assert.is(await extra, LEFT);
    }
    free();
    (await turns.acquire('7', NEVER))();
  });
});

describe('who was served and leaves then', (check) => {
  check('is not counted out of the line twice', async () => {
    const turns = createTurns();
    let free = await turns.acquire('7', NEVER);
    for (let round = 0; round < 10; round++) {
      const caller = new AbortController();
      const next = turns.acquire('7', caller.signal);
      free();
      free = await next;
      caller.abort(LEFT);
    }
    const caller = new AbortController();
    const waiting = Array.from({ length: LIMIT }, () => rejection(turns.acquire('7', caller.signal)));
    assert.instance(await rejection(turns.acquire('7', AbortSignal.timeout(1000))), QueueFull);
    caller.abort(LEFT);
    await Promise.all(waiting);
    free();
  });
});
