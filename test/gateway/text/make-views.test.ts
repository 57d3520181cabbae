import * as assert from 'uvu/assert';
import { systemClock } from '../../../src/adapter/node/clock.ts';
import { Fault } from '../../../src/core/fault.ts';
import { createTimeSlices } from '../../../src/core/time-slices.ts';
import { createShortHintlessViews, createViews, SHORT_CHARS, type Views } from '../../../src/gateway/text/decode.ts';
import { createMakeViews, type MakeViewsElsewhere } from '../../../src/gateway/text/make-views.ts';
import { describe, rejection } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { atOnce } from '../harness/at-once.ts';
import { errorOf } from '../harness/read-answer.ts';
import { GATEWAY_KEY, gatewayOver, judging } from '../harness/world.ts';
import { worstTexts } from '../harness/worst-texts.ts';

const never = new AbortController().signal;
const newSignal = (): AbortSignal => new AbortController().signal;
const LARGE = 'ä'.repeat(100_000);

/** A place for large texts that takes a second for each, and a trace of whose text it worked on when. */
const createWorld = (msPerText = 1000, make: (text: string) => Views | undefined = () => undefined) => {
  const clock = createFakeClock();
  const trace: string[] = [];
  const decoded: unknown[] = [];
  const elsewhere: MakeViewsElsewhere = async (text, owner, signal) => {
    trace.push(owner);
    await new Promise<void>((resolve, reject) => {
      clock.after(msPerText, resolve);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    });
    return make(text) ?? { texts: [`views of ${owner}`], hidden: [] };
  };
  const views = createMakeViews({
    clock,
    runInSlices: createTimeSlices(clock),
    elsewhere,
    onLarge: (one) => decoded.push(one),
  });
  return { clock, trace, decoded, ...views };
};

/** What became of a text, in a word. */
const outcome = async (made: unknown): Promise<string> => {
  try {
    await made;
    return 'made';
  } catch (error) {
    return error instanceof Fault ? error.detail.kind : String(error);
  }
};

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
