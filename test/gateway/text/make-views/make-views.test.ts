import * as assert from 'uvu/assert';
import { systemClock } from '../../../../src/adapter/node/clock.ts';
import { Fault } from '../../../../src/core/fault.ts';
import { createTimeSlices } from '../../../../src/core/time-slices.ts';
import { createShortHintlessViews, createViews, SHORT_CHARS } from '../../../../src/gateway/text/decode.ts';
import { createMakeViews } from '../../../../src/gateway/text/make-views.ts';
import { describe } from '../../../check.ts';
import { createFakeClock } from '../../../fake-clock.ts';
import { atOnce } from '../../harness/at-once.ts';
import { worstTexts } from '../../harness/worst-texts.ts';
import { createWorld, LARGE, never, outcome } from './world.ts';

describe('the views of texts', (check) => {
  check('are made elsewhere for large texts in which something may be hidden, and here for all others', async () => {
    const { makeViews, trace, clock, decoded, waiting } = createWorld();
    const plain = 'good morning to all <|of|> you '.repeat(4000).slice(0, 100_000);
    for (const text of [plain, plain.slice(0, SHORT_CHARS), 'ä'.repeat(SHORT_CHARS)])
      assert.equal(await makeViews(text, 'a', never), atOnce(createViews(text)));
    assert.equal(trace, []);
    const large = makeViews('ä'.repeat(SHORT_CHARS + 1), 'a', never);
    await clock.advance(0);
    assert.is(waiting(), 1);
    await clock.advance(1000);
    assert.equal((await large).texts, ['views of a']);
    assert.is(waiting(), 0);
    assert.equal(decoded, [{ place: 'thread', durationMs: 1000 }]);
  });

  check('are made without a turn of their own only where no decoder is asked', () => {
    const plain = 'good morning to all of you <|of|> us. '.repeat(40).slice(0, SHORT_CHARS);
    assert.equal(createShortHintlessViews(plain), atOnce(createViews(plain)));
    assert.is(createShortHintlessViews(`${plain}.`), undefined);
    // Each of these is its own only view. Decoders take a thousand microseconds to find that out.
    for (const text of ['kxqz jwvf qhzx ptkw bdgc '.repeat(40), '9f8e7d6c5b4a39281706f5e4d3c2b1a0'.repeat(31)]) {
      assert.equal(atOnce(createViews(text)).texts, [text]);
      assert.is(createShortHintlessViews(text), undefined);
    }
  });

  check('are made elsewhere for short texts of an owner that has used its share of the event loop', async () => {
    const clock = createFakeClock();
    const trace: string[] = [];
    const { makeViews } = createMakeViews({
      clock,
      // Each text takes 20 ms.
      runInSlices: async (steps) => {
        await clock.advance(20);
        return atOnce(steps);
      },
      elsewhere: async (_, owner) => {
        trace.push(owner);
        return { texts: [''], hidden: [] };
      },
      onLarge() {},
    });
    for (let count = 0; count < 10; count++) await makeViews('kurz und schön', 'a', never);
    assert.ok(trace.length >= 5, trace.join());
    await makeViews('kurz und schön', 'b', never);
    await makeViews('plain', 'a', never);
    assert.ok(!trace.includes('b'));
    const before = trace.length;
    await clock.advance(1000);
    await makeViews('kurz und schön', 'a', never);
    assert.is(trace.length, before);
  });

  check('are made here for short texts that come together and take little together', async () => {
    const clock = createFakeClock();
    const trace: string[] = [];
    const over = Promise.withResolvers<void>();
    const { makeViews } = createMakeViews({
      clock,
      runInSlices: async (steps) => {
        await over.promise;
        return atOnce(steps);
      },
      elsewhere: async (_, owner) => {
        trace.push(owner);
        return { texts: [''], hidden: [] };
      },
      onLarge() {},
    });
    const all = Array.from({ length: 40 }, () => makeViews('kurz und schön', 'a', never));
    await clock.advance(40);
    over.resolve();
    await Promise.all(all);
    await makeViews('kurz und schön', 'a', never);
    assert.equal(trace, []);
  });

  check('are the same where there is no other place, or none at the moment', async () => {
    const decoded: unknown[] = [];
    const [text = ''] = worstTexts(SHORT_CHARS * 2);
    for (const elsewhere of [undefined, async () => undefined]) {
      const clock = systemClock;
      const onLarge = ({ place }: { readonly place: string }) => decoded.push(place);
      const { makeViews } = createMakeViews({ clock, runInSlices: createTimeSlices(clock), elsewhere, onLarge });
      assert.equal(await makeViews(text, 'a', never), atOnce(createViews(text)));
    }
    assert.equal(decoded, ['event-loop', 'event-loop']);
  });

  check('are no longer waited for, nor counted, when their request ends', async () => {
    const { makeViews, trace, waiting, clock } = createWorld();
    const controller = new AbortController();
    const left = Array.from({ length: 30 }, () => outcome(makeViews(LARGE, 'a', controller.signal)));
    await clock.advance(0);
    controller.abort(new Error('left'));
    assert.equal([...new Set(await Promise.all(left))], ['Error: left']);
    assert.is(waiting(), 0);
    const next = makeViews(LARGE, 'a', never);
    await clock.advance(1000);
    await next;
    assert.equal(trace, ['a', 'a']);
  });

  check('leave the queue open after a failure', async () => {
    let isBroken = true;
    const { makeViews, clock } = createWorld(1000, () => {
      if (isBroken) throw new Fault({ kind: 'overloaded', retryAfterMs: 1000 });
      return undefined;
    });
    const failed = outcome(makeViews(LARGE, 'a', never));
    await clock.advance(1000);
    assert.is(await failed, 'overloaded');
    isBroken = false;
    const next = makeViews(LARGE, 'a', never);
    await clock.advance(1000);
    assert.equal((await next).texts, ['views of a']);
  });
});
