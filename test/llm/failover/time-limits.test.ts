import * as assert from 'uvu/assert';
import { attemptLimitMs } from '../../../src/llm/failover.ts';
import { describe, rejection } from '../../check.ts';
import { createBackendWorld, detailOf, failing, GOOD } from '../backend-world.ts';
import { fails, surrenderOf, verdictReply } from './world.ts';

describe('the time for one call', (check) => {
  check('is all that is left when there is no other key, and leaves some when there is', () => {
    for (const remainingMs of [0, 1, 5_000, 25_000]) assert.is(attemptLimitMs(remainingMs, false), remainingMs);
    assert.is(attemptLimitMs(25_000, true), 15_000);
    assert.is(attemptLimitMs(14_000, true), 8_400);
    assert.is(attemptLimitMs(10_000, true), 8_000);
    assert.is(attemptLimitMs(8_000, true), 8_000);
    assert.is(attemptLimitMs(3_000, true), 3_000);
    assert.is(attemptLimitMs(0, true), 0);
  });

  check('ends a call that hangs, and the next key answers', async () => {
    const world = createBackendWorld({ keys: 'ab', script: ['silence', GOOD] });
    const asked = world.ask();
    await world.clock.advance(14_999);
    assert.is(world.order(), 'a');
    await world.clock.advance(1);
    assert.ok(verdictReply(await asked));
    assert.equal(world.ends(), ['aborted', 'answered']);
    assert.equal(world.states(), ['active', 'active']);
    assert.is(world.clock.pending(), 0);
  });

  check('leaves some for a key that may be back', async () => {
    const world = createBackendWorld({ keys: 'ab', script: [failing(429), GOOD, 'silence', GOOD] });
    await world.ask();
    await world.clock.advance(5_000);
    assert.equal(world.states(), ['half-open', 'active']);
    const asked = world.ask(undefined, undefined, world.key('a'));
    await world.clock.advance(15_000);
    assert.ok(verdictReply(await asked));
    assert.is(world.order(), 'abba');
  });

  check('is shared by keys that all hang, and never outlasts the deadline', async () => {
    const world = createBackendWorld({ keys: 'abc', script: fails('silence') });
    const asked = rejection(world.ask());
    await world.clock.advance(24_999);
    assert.equal(world.ends(), ['aborted', 'aborted', 'running']);
    await world.clock.advance(1);
    assert.is(detailOf(await asked).kind, 'backend-timeout');
    assert.equal(world.ends(), ['aborted', 'aborted', 'aborted']);
    assert.equal(
      world.facts.map(({ kind, key, durationMs }) => [kind, key, durationMs]),
      [
        ['hung', 'a', 15_000],
        ['hung', 'b', 8_000],
        ['hung', 'c', 2_000],
      ],
    );
    assert.is(world.clock.pending(), 0);
  });

  check('is a timeout when one key hung and the rest refused', async () => {
    const world = createBackendWorld({ keys: 'ab', script: ['silence', failing(401)] });
    const asked = world.ask();
    await world.clock.advance(15_000);
    const { fault, isHostFailure } = surrenderOf(await asked);
    assert.is(fault.detail.kind, 'backend-timeout');
    assert.is(isHostFailure, true);
    assert.is(world.clock.pending(), 0);
  });

  check('is the whole deadline for an only key', async () => {
    const world = createBackendWorld({ script: ['silence'] });
    const asked = rejection(world.ask(9_000));
    await world.clock.advance(8_999);
    assert.equal(world.ends(), ['running']);
    await world.clock.advance(1);
    assert.is(detailOf(await asked).kind, 'backend-timeout');
    assert.equal(world.ends(), ['aborted']);
    assert.equal(world.states(), ['active']);
    assert.equal(world.facts, [{ kind: 'hung', key: 'a', model: 'gpt-oss:20b', durationMs: 9_000 }]);
  });

  check('of a deadline that is over is none, and takes no key its turn', async () => {
    const world = createBackendWorld({ keys: 'ab', script: [GOOD] });
    const ended = AbortSignal.abort();
    assert.is(detailOf(await rejection(world.ask(1_000, ended))).kind, 'client-left');
    assert.is(world.order(), '');
    assert.is(world.clock.pending(), 0);
    await world.ask();
    assert.is(world.order(), 'a');
  });
});
