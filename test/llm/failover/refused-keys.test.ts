import * as assert from 'uvu/assert';
import { describe, rejection } from '../../check.ts';
import { createBackendWorld, detailOf, failing, GOOD } from '../backend-world.ts';
import { type Answer, reset } from '../scripted-client.ts';
import { surrenderOf, UNUSABLE, verdictReply } from './world.ts';

describe('a key that was refused', (check) => {
  check('is active again only after a finished answer', async () => {
    for (const step of [...UNUSABLE, failing(500), failing(404), failing(400), failing(302), failing(200), reset()]) {
      const world = createBackendWorld({ script: [failing(429), step, GOOD] });
      await world.ask();
      await world.clock.advance(5_000);
      await world.ask();
      assert.equal(world.states(), ['half-open'], JSON.stringify(step));
      await world.ask();
      assert.equal(world.states(), ['active']);
    }
  });

  check('is tried by one question while another waits for what becomes of it', async () => {
    const probe = Promise.withResolvers<Answer>();
    const world = createBackendWorld({ script: [failing(429), probe.promise, GOOD] });
    await world.ask();
    await world.clock.advance(5_000);
    const first = world.ask();
    const second = world.ask();
    await world.clock.advance(100);
    assert.equal(world.states(), ['probing']);
    assert.is(world.order(), 'aa');
    probe.resolve(GOOD);
    assert.ok(verdictReply(await first));
    assert.ok(verdictReply(await second));
    assert.is(world.order(), 'aaa');
  });

  check('that is refused in the trial sends those who waited away with its new rest', async () => {
    const probe = Promise.withResolvers<Answer>();
    const world = createBackendWorld({ script: [failing(429), probe.promise] });
    await world.ask();
    await world.clock.advance(5_000);
    const asked = [world.ask(), world.ask(), world.ask()];
    await world.clock.advance(0);
    probe.resolve(failing(429));
    for (const { fault } of (await Promise.all(asked)).map(surrenderOf)) {
      assert.equal(fault.detail, { kind: 'no-backend-key', retryAfterMs: 10_000 });
    }
    assert.is(world.order(), 'aa');
  });

  check('whose trial was left alone is tried by the next who waited', async () => {
    const world = createBackendWorld({ script: [failing(429), 'silence', GOOD] });
    await world.ask();
    await world.clock.advance(5_000);
    const client = new AbortController();
    const left = rejection(world.ask(undefined, client.signal));
    const second = world.ask();
    await world.clock.advance(100);
    client.abort();
    assert.is(detailOf(await left).kind, 'client-left');
    assert.ok(verdictReply(await second));
    assert.equal(world.states(), ['active']);
  });

  check('is waited for only as long as the deadline and the client want', async () => {
    const world = createBackendWorld({ script: [failing(429), 'silence'] });
    await world.ask();
    await world.clock.advance(5_000);
    const client = new AbortController();
    const probing = rejection(world.ask());
    const hurried = rejection(world.ask(3_000));
    const leaving = rejection(world.ask(undefined, client.signal));
    await world.clock.advance(0);
    client.abort();
    assert.is(detailOf(await leaving).kind, 'client-left');
    await world.clock.advance(3_000);
    assert.is(detailOf(await hurried).kind, 'backend-timeout');
    assert.is(world.order(), 'aa');
    assert.equal(world.states(), ['probing']);
    await world.clock.advance(22_000);
    assert.is(detailOf(await probing).kind, 'backend-timeout');
    assert.equal(world.states(), ['half-open']);
    assert.is(world.clock.pending(), 0);
  });

  check('is waited for by a question that failed with all the others', async () => {
    const probe = Promise.withResolvers<Answer>();
    const world = createBackendWorld({
      keys: 'ab',
      script: (_sent, index) => [failing(429), GOOD, probe.promise, failing(500), GOOD][index] ?? GOOD,
    });
    await world.ask();
    await world.clock.advance(5_000);
    const first = world.ask();
    const second = world.ask();
    await world.clock.advance(100);
    assert.is(world.order(), 'abab');
    probe.resolve(GOOD);
    assert.ok(verdictReply(await first));
    assert.ok(verdictReply(await second));
    assert.is(world.order(), 'ababa');
  });
});
