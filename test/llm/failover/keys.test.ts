import * as assert from 'uvu/assert';
import { Fault } from '../../../src/core/fault.ts';
import { describe, rejection } from '../../check.ts';
import { createBackendWorld, failing, GOOD } from '../backend-world.ts';
import { type Answer, CANARY, ollamaAnswer, reset, type Step } from '../scripted-client.ts';
import { answerOf, fails, surrenderOf, UNUSABLE, verdictReply } from './world.ts';

const QUOTA = `{"error":"you (${CANARY}) have reached your weekly usage limit"}`;

/** Every way in which a key is refused, with the rest it earns. */
const REFUSALS: readonly (readonly [string, Step, number])[] = [
  ['401', failing(401, 'unauthorized\n'), 600_000],
  ['403', failing(403), 600_000],
  ['402', failing(402), 900_000],
  ['429', failing(429), 5_000],
  ['429 with Retry-After', failing(429, '', { 'retry-after': '42' }), 42_000],
  ['429 with quota words', failing(429, QUOTA, { 'retry-after': '1' }), 900_000],
  ['200 with a quota error', failing(200, QUOTA), 900_000],
];
/** Every failure that another key may mend, with whether it speaks against the host. */
const FAILURES: readonly (readonly [string, Step, boolean])[] = [
  ...[408, 500, 502, 503, 504].map((status) => [`HTTP ${status}`, failing(status), true] as const),
  ['HTTP 404, as for a model that it does not have', failing(404), false],
  ['no whole answer (ECONNRESET)', reset(), true],
  ['it could not be reached (ECONNREFUSED)', reset('ECONNREFUSED'), true],
  ['it could not be reached (ENOTFOUND)', reset('ENOTFOUND'), true],
  ['an error under HTTP 200', failing(200), true],
];
const REJECTIONS = [301, 302, 400, 405, 409, 413, 415, 422] as const;

describe('a question over several keys', (check) => {
  check('is answered by the first key, and the next question by the next', async () => {
    const world = createBackendWorld({ keys: 'abc', script: fails(GOOD) });
    for (let index = 0; index < 7; index++) assert.ok(verdictReply(await world.ask()));
    assert.is(world.order(), 'abcabca');
    assert.is(world.clock.pending(), 0);
  });

  for (const [name, step, coolDownMs] of REFUSALS) {
    check(`moves on and rests the key after ${name}`, async () => {
      const world = createBackendWorld({ keys: 'abc', script: [step, step, GOOD, GOOD] });
      const result = answerOf(await world.ask());
      assert.ok(verdictReply(result));
      assert.is(result.key.fingerprint, 'c');
      assert.equal(world.states(), ['cooling', 'cooling', 'active']);
      await world.ask();
      assert.is(world.order(), 'abcc');
    });

    check(`reports the exact wait when ${name} was every key's answer`, async () => {
      for (const keys of ['a', 'abc']) {
        const world = createBackendWorld({ keys, script: fails(step) });
        const { fault, isHostFailure } = surrenderOf(await world.ask());
        assert.equal(fault.detail, { kind: 'no-backend-key', retryAfterMs: coolDownMs });
        assert.is(isHostFailure, false);
        assert.is(world.order(), keys);
        assert.ok(world.states().every((state) => state === 'cooling'));
        await world.clock.advance(coolDownMs - 1);
        assert.equal(surrenderOf(await world.ask()).fault.detail, { kind: 'no-backend-key', retryAfterMs: 1 });
        assert.is(world.order(), keys);
      }
    });
  }

  for (const [name, step, isHostFailure] of FAILURES) {
    check(`moves on and rests no key after "${name}"`, async () => {
      const world = createBackendWorld({ keys: 'abc', script: [step, step, GOOD] });
      assert.ok(verdictReply(await world.ask()));
      assert.is(world.order(), 'abc');
      assert.equal(world.states(), ['active', 'active', 'active']);
    });

    check(`is given up when every key ends in "${name}"`, async () => {
      for (const keys of ['a', 'abc']) {
        const world = createBackendWorld({ keys, script: fails(step) });
        const surrender = surrenderOf(await world.ask());
        assert.equal(surrender.fault.detail, { kind: 'backend-error', reason: name });
        assert.is(surrender.isHostFailure, isHostFailure);
        assert.is(world.order(), keys);
        assert.ok(world.states().every((state) => state === 'active'));
      }
    });
  }

  check('that is not wanted itself is put to no other key', async () => {
    for (const status of REJECTIONS) {
      const world = createBackendWorld({ keys: 'abc', script: [failing(status)] });
      const { outcome } = answerOf(await world.ask());
      assert.equal(outcome, { kind: 'rejected', reason: `HTTP ${status}` });
      assert.is(world.order(), 'a');
      assert.equal(world.states(), ['active', 'active', 'active']);
    }
  });

  check('with an unusable answer goes back to its caller, who knows how to repair it', async () => {
    for (const step of UNUSABLE) {
      const world = createBackendWorld({ keys: 'abc', script: [step] });
      const { outcome, key } = answerOf(await world.ask());
      assert.ok(outcome.kind === 'answered' && outcome.reply.kind === 'unusable');
      assert.is(key, world.key('a'));
      assert.is(world.order(), 'a');
    }
  });

  check('speaks of the failure, not of the refusals around it', async () => {
    for (const script of [
      [failing(500), failing(401), failing(429)],
      [failing(401), failing(500), failing(429)],
      [failing(401), failing(429), failing(500)],
    ]) {
      const surrender = surrenderOf(await createBackendWorld({ keys: 'abc', script }).ask());
      assert.equal(surrender.fault.detail, { kind: 'backend-error', reason: 'HTTP 500' });
    }
  });

  check('passes over keys that rest', async () => {
    const world = createBackendWorld({ keys: 'abc', script: [failing(401), GOOD, GOOD, GOOD, GOOD] });
    for (let index = 0; index < 4; index++) await world.ask();
    assert.is(world.order(), 'abcbc');
  });

  check('hides no bug, and lets go of the key', async () => {
    const bug = new TypeError('a bug');
    const world = createBackendWorld({ keys: 'ab', script: [failing(429), GOOD, bug] });
    await world.ask();
    await world.clock.advance(5_000);
    assert.is(await rejection(world.ask()), bug);
    assert.equal(world.states(), ['half-open', 'active']);
    assert.is(world.clock.pending(), 0);
  });
});

describe('a second question to repair the first', (check) => {
  check('goes to another key than the one to avoid', async () => {
    const world = createBackendWorld({ keys: 'abc', script: fails(GOOD) });
    await world.ask(undefined, undefined, world.key('a'));
    await world.ask(undefined, undefined, world.key('c'));
    assert.is(world.order(), 'ba');
  });

  check('goes to the key to avoid when there is no other', async () => {
    const alone = createBackendWorld({ keys: 'a', script: [GOOD] });
    assert.ok(verdictReply(await alone.ask(undefined, undefined, alone.key('a'))));
    const world = createBackendWorld({ keys: 'ab', script: [failing(401), GOOD, GOOD] });
    await world.ask();
    assert.ok(verdictReply(await world.ask(undefined, undefined, world.key('b'))));
    assert.is(world.order(), 'abb');
  });

  check('goes to the key to avoid last, after all others failed', async () => {
    const world = createBackendWorld({ keys: 'abc', script: [failing(500), failing(429), GOOD] });
    assert.ok(verdictReply(await world.ask(undefined, undefined, world.key('a'))));
    assert.is(world.order(), 'bca');
  });
});

describe('what is reported of each call', (check) => {
  check('is its end, key, model, time and, of a failure, the reason', async () => {
    const slow = Promise.withResolvers<Answer>();
    const script = [failing(429), failing(500), failing(404), reset(), slow.promise];
    const world = createBackendWorld({ keys: 'abcde', script });
    const asked = world.ask();
    await world.clock.advance(1_234);
    slow.resolve(GOOD);
    await asked;
    const model = 'gpt-oss:20b';
    assert.equal(world.facts, [
      { kind: 'refused', key: 'a', model, durationMs: 0 },
      { kind: 'failed', key: 'b', model, durationMs: 0, reason: 'HTTP 500' },
      { kind: 'failed', key: 'c', model, durationMs: 0, reason: 'HTTP 404, as for a model that it does not have' },
      { kind: 'failed', key: 'd', model, durationMs: 0, reason: 'no whole answer (ECONNRESET)' },
      { kind: 'answered', key: 'e', model, durationMs: 1_234 },
    ]);
  });

  check('quotes neither the backend nor a key', async () => {
    const steps: readonly Step[] = [
      ...REFUSALS.map(([, step]) => step),
      ...FAILURES.map(([, step]) => step),
      ...REJECTIONS.map((status) => failing(status, CANARY)),
      ...UNUSABLE,
      failing(200, ollamaAnswer({ error: CANARY })),
      { text: ollamaAnswer({ model: CANARY, done_reason: CANARY }) },
    ];
    for (const step of steps) {
      const world = createBackendWorld({ keys: 'ab', script: fails(step) });
      const result = await world.ask();
      const { fault, ...rest } = result.kind === 'all-keys-failed' ? result : { ...result, key: '', fault: undefined };
      const outputText = JSON.stringify([rest, fault?.detail, fault?.message, fault?.cause]) + world.traces();
      assert.not.match(outputText, CANARY);
      assert.not.match(outputText, 'secret-');
      assert.not.match(outputText, 'backend.test');
    }
    assert.instance(surrenderOf(await createBackendWorld({ script: [failing(500)] }).ask()).fault, Fault);
  });
});
