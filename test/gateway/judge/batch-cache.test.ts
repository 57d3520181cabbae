import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { isBatch, judgingEach, textsIn } from '../harness/batches.ts';
import { judgedBy, parsePolicy } from '../harness/policies.ts';
import { errorOf, resultsOf } from '../harness/read-answer.ts';
import { createReplicas } from '../harness/replicas.ts';
import { type Answer, gatewayOver, keyOf, type WorldSettings } from '../harness/world.ts';

const INPUT = ['good morning', 'how are you', 'see you soon'] as const;
const calm = judgingEach(() => ({ HR: 12 }));
const batching = (answer: Answer = calm, { variables, ...rest }: WorldSettings = {}) =>
  gatewayOver(answer, { variables: { JUDGE_BATCH: '8', ...variables }, ...rest });
const cacheWordOf = (response: Response) => response.headers.get('x-moderation-cache');
const silence = () => new Promise<never>(() => {});

describe('a verdict that was given beside others', (check) => {
  check('is found again by requests that would judge the text beside others', async () => {
    const { ask, calls } = batching();
    assert.is(cacheWordOf(await ask({ input: INPUT })), 'miss');
    assert.is(cacheWordOf(await ask({ input: INPUT.toReversed() })), 'hit');
    assert.is(cacheWordOf(await ask({ input: [...INPUT, 'one more', 'and another'] })), 'partial');
    assert.equal(calls.map(textsIn), [[...INPUT], ['one more', 'and another']]);
  });
  check('is not given to a request for that text alone, which is judged alone', async () => {
    const { ask, calls } = batching();
    await ask({ input: INPUT });
    assert.is(cacheWordOf(await ask({ input: INPUT[0] })), 'miss');
    assert.equal(calls.map(textsIn).at(-1), [INPUT[0]]);
    assert.is(cacheWordOf(await ask({ input: INPUT[0] })), 'hit');
  });
  check('is not needed where one was given alone', async () => {
    const { ask, calls } = batching();
    for (const input of INPUT) await ask({ input });
    assert.is(cacheWordOf(await ask({ input: INPUT })), 'hit');
    assert.is(calls.length, 3);
  });
  check('is stored for a text that had to be judged alone under the key of one judged alone', async () => {
    const { ask, calls } = batching(judgingEach((text) => (text === INPUT[1] ? { HR: 30 } : {})));
    await ask({ input: INPUT });
    assert.is(cacheWordOf(await ask({ input: INPUT[1] })), 'hit');
    assert.is(calls.length, 2);
  });
  check('is asked for once where a text stands twice', async () => {
    const { ask, calls } = batching(judgingEach((text) => ({ HR: text.length })));
    const results = await resultsOf(await ask({ input: ['four', 'seven77', 'four', 'four'] }));
    assert.equal(
      results.map(({ scores }) => scores.harassment),
      [0.04, 0.07, 0.04, 0.04],
    );
    assert.equal(calls.map(textsIn), [['four', 'seven77']]);
  });
  check('is asked for alone where all texts are the same', async () => {
    const { ask, calls } = batching();
    assert.is((await resultsOf(await ask({ input: ['same', 'same', 'same'] }))).length, 3);
    assert.equal(calls.map(textsIn), [['same']]);
  });
  check('of another replica is used for what is left of its time', async () => {
    const { shared, verdicts } = createReplicas(1000);
    await batching(calm, { needs: { shared } }).ask({ input: INPUT });
    const { ask, calls, clock } = batching(calm, { needs: { shared } });
    await ask({ input: INPUT });
    verdicts.clear();
    await clock.advance(999);
    await ask({ input: INPUT });
    assert.is(calls.length, 0);
    await clock.advance(1);
    await ask({ input: INPUT });
    assert.is(calls.length, 1);
  });
  check('of another replica is not given to a request for that text alone', async () => {
    const { shared } = createReplicas(1000);
    await batching(calm, { needs: { shared } }).ask({ input: INPUT });
    const { ask, calls } = batching(calm, { needs: { shared } });
    await ask({ input: INPUT });
    assert.is(calls.length, 0);
    assert.is(cacheWordOf(await ask({ input: INPUT[0] })), 'miss');
    assert.equal(calls.map(textsIn), [[INPUT[0]]]);
  });
  check('is shared with replicas under a key of its own, bound to the policy', async () => {
    const { shared, verdicts } = createReplicas();
    const callsOf = async (input: unknown, settings: WorldSettings = {}) => {
      const { ask, calls } = batching(calm, { ...settings, needs: { ...settings.needs, shared } });
      await resultsOf(await ask({ input }));
      return calls.length;
    };
    assert.equal([await callsOf(INPUT), verdicts.size], [1, 3]);
    assert.is(await callsOf(INPUT), 0);
    assert.is(await callsOf(INPUT, { variables: { JUDGE_BATCH: '2' } }), 0);
    assert.is(await callsOf(INPUT, { variables: { JUDGE_BATCH: '0' } }), 3, 'off: none that was given beside others');
    assert.is(await callsOf(INPUT[0]), 0, 'those that were given alone');
    const policy = parsePolicy('{"version":"house","categories":{"hate":{"guidance":"Be strict."}}}');
    assert.is(await callsOf(INPUT, judgedBy(policy)), 1);
  });
});

/** Answers when it is let. */
const held = (answer: Answer) => {
  const gate = Promise.withResolvers<void>();
  const gated: Answer = async (sent) => {
    await gate.promise;
    return answer(sent);
  };
  return { open: gate.resolve, gated };
};

describe('one call for several texts', (check) => {
  check('serves equal requests that come while it runs', async () => {
    const { open, gated } = held(calm);
    const { ask, calls, clock } = batching(gated);
    const answers = [ask({ input: INPUT }), ask({ input: INPUT }), ask({ input: [INPUT[2], 'something new'] })];
    await clock.advance(10);
    assert.equal(calls.map(textsIn), [[...INPUT], ['something new']]);
    open();
    for (const answer of await Promise.all(answers)) assert.is(answer.status, 200);
    assert.is(calls.length, 2);
  });
  check('goes on for one who stays for one of its texts, and ends with the last who leaves', async () => {
    const { ask, calls, clock } = batching(silence);
    const [first, second] = [new AbortController(), new AbortController()];
    const answers = [
      ask({ input: INPUT }, {}, first.signal),
      ask({ input: [INPUT[2], 'something new'] }, {}, second.signal),
    ];
    await clock.advance(10);
    assert.equal(calls.filter(isBatch).length, 1);
    first.abort();
    await clock.advance(10);
    assert.equal(
      calls.map(({ signal }) => signal.aborted),
      [false, false],
    );
    second.abort();
    await clock.advance(0);
    assert.equal(
      calls.map(({ signal }) => signal.aborted),
      [true, true],
    );
    assert.equal(
      (await Promise.all(answers)).map(({ status }) => status),
      [499, 499],
    );
    await clock.advance(60_000);
    assert.equal([calls.length, clock.pending()], [2, 0]);
  });
  check('ends with the deadline of its request, and nothing is left waiting', async () => {
    const { ask, clock } = batching(silence, { variables: { BACKEND_API_KEYS: 'one' } });
    const answer = ask({ input: INPUT });
    await clock.advance(25_000);
    assert.is((await errorOf(await answer)).code, 'backend_timeout');
    await clock.advance(0);
    assert.is(clock.pending(), 0);
  });
  check('is hedged like any other', async () => {
    let asked = 0;
    const { ask, calls, clock } = batching((sent) => (asked++ === 0 ? silence() : calm(sent)), {
      variables: { HEDGE_AFTER_MS: '800' },
    });
    const answer = ask({ input: INPUT });
    await clock.advance(800);
    assert.is((await resultsOf(await answer)).length, 3);
    assert.equal(calls.map(isBatch), [true, true]);
    assert.is(new Set(calls.map(keyOf)).size, 2);
    assert.is(calls[0]?.signal.aborted, true);
  });
  check('waits for its place like any other', async () => {
    const { open, gated } = held(calm);
    const { ask, calls, clock } = batching(gated, { variables: { JUDGE_BATCH: '2', MAX_CONCURRENCY: '1' } });
    const answer = ask({ input: ['first', 'second', 'third', 'fourth'] });
    await clock.advance(10);
    assert.is(calls.length, 1);
    open();
    assert.is((await resultsOf(await answer)).length, 4);
    assert.equal(calls.map(textsIn), [
      ['first', 'second'],
      ['third', 'fourth'],
    ]);
  });
});
