import * as assert from 'uvu/assert';
import { Fault } from '../../../../src/core/fault.ts';
import { SHORT_CHARS } from '../../../../src/gateway/text/decode.ts';
import type { MakeViewsElsewhere } from '../../../../src/gateway/text/make-views.ts';
import { describe, rejection } from '../../../check.ts';
import { errorOf } from '../../harness/read-answer.ts';
import { GATEWAY_KEY, gatewayOver, judging } from '../../harness/world.ts';
import { createWorld, LARGE, never, outcome } from './world.ts';

const newSignal = (): AbortSignal => new AbortController().signal;

describe('the views of texts', (check) => {
  check('are made one at a time for each owner, in order, and for two owners side by side', async () => {
    const { makeViews, trace, clock } = createWorld();
    const made = ['a', 'a', 'a', 'b'].map((owner) => makeViews(LARGE, owner, never));
    await clock.advance(0);
    assert.equal(trace, ['a', 'b']);
    await clock.advance(2000);
    assert.equal(trace, ['a', 'b', 'a', 'a']);
    await clock.advance(1000);
    await Promise.all(made);
  });

  check('are made in turn for more owners, and the shorter ones beside the long', async () => {
    const { makeViews, trace, clock } = createWorld();
    const made = ['a', 'a', 'b', 'b', 'c', 'c', 'd'].map((owner) => makeViews(LARGE, owner, never));
    const shorter = makeViews('ä'.repeat(20_000), 'e', never);
    await clock.advance(0);
    assert.equal(trace, ['a', 'b', 'e']);
    await clock.advance(1000);
    await shorter;
    assert.equal(trace.slice(3), ['c', 'd']);
    await clock.advance(5000);
    await Promise.all(made);
  });

  check('leave no place taken when the requests of several owners end while they wait', async () => {
    const { makeViews, trace, clock } = createWorld();
    const controller = new AbortController();
    const left = ['a', 'b', 'c', 'd', 'a'].map((owner) => outcome(makeViews(LARGE, owner, controller.signal)));
    await clock.advance(0);
    controller.abort(new Error('left'));
    assert.equal([...new Set(await Promise.all(left))], ['Error: left']);
    const before = trace.length;
    const made = ['c', 'd'].map((owner) => makeViews(LARGE, owner, never));
    await clock.advance(0);
    assert.equal(trace.slice(before), ['c', 'd']);
    await clock.advance(1000);
    await Promise.all(made);
  });

  check('are made side by side for the shorter ones of an owner, within bounds', async () => {
    const { makeViews, trace, clock } = createWorld();
    const made = Array.from({ length: 100 }, () => makeViews('ä'.repeat(SHORT_CHARS + 1), 'a', never));
    await clock.advance(0);
    assert.ok(trace.length > 8 && trace.length < 40, `${trace.length} at a time`);
    await clock.advance(20_000);
    await Promise.all(made);
  });

  check('are refused to an owner whose texts have to wait for more than five seconds, and to no other', async () => {
    const { makeViews, clock } = createWorld();
    const flood = Array.from({ length: 200 }, () => outcome(makeViews(LARGE, 'a', newSignal())));
    const other = outcome(makeViews(LARGE, 'b', newSignal()));
    await clock.advance(200_000);
    const outcomes = await Promise.all(flood);
    const admitted = outcomes.filter((one) => one === 'made').length;
    assert.ok(admitted >= 5 && admitted < 150, outcomes.join());
    assert.equal([...new Set(outcomes)].sort(), ['made', 'overloaded']);
    assert.is(await other, 'made');
    const later = makeViews(LARGE, 'a', newSignal());
    await clock.advance(1000);
    assert.ok((await later).texts.length > 0, 'the queue is empty again');
  });

  check('are admitted by what the texts of the owner take', async () => {
    const admittedAt = async (msPerText: number): Promise<number> => {
      const { makeViews, clock } = createWorld(msPerText);
      for (let count = 0; count < 20; count++) {
        const made = makeViews(LARGE, 'a', newSignal());
        await clock.advance(msPerText);
        await made;
      }
      const flood = Array.from({ length: 600 }, () => outcome(makeViews(LARGE, 'a', newSignal())));
      await clock.advance(600 * msPerText);
      return (await Promise.all(flood)).filter((one) => one === 'made').length;
    };
    for (const msPerText of [10, 100, 1000]) {
      const admittedMs = (await admittedAt(msPerText)) * msPerText;
      assert.ok(admittedMs > 4500 && admittedMs < 6500, `${admittedMs} ms of ${msPerText} each`);
    }
  });

  check('are refused to a request as a whole, never to a part of it', async () => {
    const { makeViews, clock } = createWorld();
    const signal = newSignal();
    const all = Array.from({ length: 120 }, () => outcome(makeViews(LARGE, 'a', signal)));
    const next = Array.from({ length: 3 }, () => outcome(makeViews(LARGE, 'a', never)));
    await clock.advance(120_000);
    assert.equal([...new Set(await Promise.all(all))], ['made']);
    assert.equal([...new Set(await Promise.all(next))], ['overloaded']);
  });

  check('say how long the owner should wait', async () => {
    const { makeViews } = createWorld();
    const signal = newSignal();
    for (let count = 0; count < 160; count++) void outcome(makeViews(LARGE, 'a', signal));
    const error = await rejection(Promise.resolve(makeViews(LARGE, 'a', never)));
    assert.ok(error instanceof Fault && error.detail.kind === 'overloaded');
    // 160 texts of 100,000 characters at 0.5 ms for a thousand, and five seconds of them may wait.
    assert.is(Math.round(error.detail.retryAfterMs), 3000);
  });
});

describe('a gateway key whose large texts wait for too long', (check) => {
  check('gets 503 with Retry-After, and another key its verdict', async () => {
    const never: MakeViewsElsewhere = () => new Promise(() => {});
    const variables = {
      MODERATION_API_KEYS: `${GATEWAY_KEY},other-key-1`,
      MAX_BODY_BYTES: '20000000',
      MAX_INPUTS: '60',
    };
    const owners = new Set<string>();
    const makeViewsElsewhere: MakeViewsElsewhere = (text, owner, signal) => {
      owners.add(owner);
      return text.startsWith('answered') ? Promise.resolve({ texts: [text], hidden: [] }) : never(text, owner, signal);
    };
    const { ask } = gatewayOver(judging(), { variables, needs: { makeViewsElsewhere } });
    const controller = new AbortController();
    const input = Array.from({ length: 60 }, (_, index) => `${index} ${'ä'.repeat(99_000)}`);
    const first = [ask({ input }, {}, controller.signal), ask({ input }, {}, controller.signal)];
    await new Promise((resolve) => setTimeout(resolve, 50));
    const refused = await ask({ input: LARGE });
    assert.is(refused.status, 503);
    assert.is((await errorOf(refused)).code, 'overloaded');
    assert.ok(Number(refused.headers.get('retry-after')) >= 1);
    const other = { authorization: 'Bearer other-key-1' };
    assert.is((await ask({ input: `answered ${LARGE.slice(10)}` }, other)).status, 200);
    assert.is((await ask({ input: 'short' })).status, 200);
    assert.is(owners.size, 2);
    assert.ok([...owners].every((owner) => /^[\da-f]{64}$/.test(owner)));
    controller.abort();
    assert.equal(
      (await Promise.all(first)).map(({ status }) => status),
      [499, 499],
    );
  });
});
