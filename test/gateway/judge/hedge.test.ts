import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { errorOf, resultsOf } from '../harness/read-answer.ts';
import { type Answer, gatewayOver, judging, keyOf, received, replying } from '../harness/world.ts';

const silence = () => new Promise<never>(() => {});
/** Answers the first call by `first`, any other by `second`. */
const inTurn = (first: Answer, second: Answer): Answer => {
  let asked = 0;
  return (sent) => (asked++ === 0 ? first(sent) : second(sent));
};
const hedging = (answer: Answer, variables: Readonly<Record<string, string>> = {}) =>
  gatewayOver(answer, { variables: { HEDGE_AFTER_MS: '800', ...variables } });
const lateBy =
  (clock: () => ReturnType<typeof gatewayOver>['clock'], ms: number, answer: Answer): Answer =>
  (sent) =>
    new Promise((resolve) => {
      clock().after(ms, () => resolve(answer(sent)));
    });

describe('a slow call', (check) => {
  check('is joined by a second one on another key, whose answer wins; the first is given up', async () => {
    const { ask, calls, clock } = hedging(inTurn(silence, judging({ HR: 70 })));
    const answer = ask({ input: 'a' });
    await clock.advance(799);
    assert.is(calls.length, 1);
    await clock.advance(1);
    assert.is((await resultsOf(await answer))[0]?.scores.harassment, 0.7);
    assert.is(new Set(calls.map(keyOf)).size, 2);
    assert.equal(calls.map(({ signal }) => signal.aborted).at(0), true);
    await clock.advance(0);
    assert.is(clock.pending(), 0);
  });
  check('may still win itself, and the second is given up', async () => {
    const { ask, calls, clock } = hedging(
      inTurn(
        lateBy(() => clock, 1000, judging({ HR: 70 })),
        silence,
      ),
    );
    const answer = ask({ input: 'a' });
    await clock.advance(1000);
    assert.is((await resultsOf(await answer))[0]?.scores.harassment, 0.7);
    assert.is(calls.length, 2);
    assert.is(calls[1]?.signal.aborted, true);
  });
  check('is not joined when it is not slow, or hedging is off', async () => {
    const quick = hedging(judging());
    await quick.ask({ input: 'a' });
    await quick.clock.advance(5000);
    assert.is(quick.calls.length, 1);
    const off = gatewayOver(silence, { variables: { REQUEST_DEADLINE_MS: '5000' } });
    const answer = off.ask({ input: 'a' });
    await off.clock.advance(2900);
    assert.is(off.calls.length, 1);
    await off.clock.advance(2100);
    assert.is((await answer).status, 504);
  });
  check('is not joined where no place is free', async () => {
    const { ask, calls, clock } = hedging(silence, { MAX_CONCURRENCY: '1', REQUEST_DEADLINE_MS: '5000' });
    const answer = ask({ input: 'a' });
    await clock.advance(1000);
    assert.is(calls.length, 1);
    await clock.advance(4000);
    assert.is((await errorOf(await answer)).code, 'backend_timeout');
  });
  check('that fails where no place was free is reported by its own failure', async () => {
    const failing = lateBy(
      () => clock,
      1000,
      () => received(500, ''),
    );
    const { ask, clock } = hedging(failing, { MAX_CONCURRENCY: '1', BACKEND_API_KEYS: 'only-key' });
    const answer = ask({ input: 'a' });
    await clock.advance(1000);
    assert.is((await errorOf(await answer)).code, 'backend_error');
  });
  check('that fails waits for the second', async () => {
    let asked = 0;
    const { ask, clock } = hedging(
      (sent) => {
        asked += 1;
        const answer: Answer = asked === 1 ? () => received(500, '') : judging({ HR: 70 });
        return lateBy(() => clock, asked === 1 ? 900 : 3000, answer)(sent);
      },
      { BACKEND_API_KEYS: 'one-key,other-key' },
    );
    const answer = ask({ input: 'a' });
    await clock.advance(900);
    await clock.advance(3000);
    assert.is((await resultsOf(await answer))[0]?.scores.harassment, 0.7);
  });
  check('and a second that both fail end in an error once', async () => {
    const { ask, clock } = hedging(
      lateBy(
        () => clock,
        1000,
        () => received(500, ''),
      ),
    );
    const answer = ask({ input: 'a' });
    await clock.advance(10_000);
    assert.is((await errorOf(await answer)).code, 'backend_error');
    assert.is(clock.pending(), 0);
  });
  check('gets its repair attempt all the same', async () => {
    const { ask, clock, calls } = hedging(
      inTurn(
        lateBy(
          () => clock,
          100,
          (sent) => replying(sent, ''),
        ),
        judging(),
      ),
    );
    const answer = ask({ input: 'a' });
    await clock.advance(100);
    await resultsOf(await answer);
    assert.is(calls.length, 2);
  });
  check('ends with both of its calls at the deadline, or when the client leaves', async () => {
    const { ask, calls, clock } = hedging(silence, { REQUEST_DEADLINE_MS: '3000' });
    const answer = ask({ input: 'a' });
    await clock.advance(3000);
    assert.is((await errorOf(await answer)).code, 'backend_timeout');
    const client = new AbortController();
    const left = ask({ input: 'b' }, {}, client.signal);
    await clock.advance(1000);
    client.abort();
    assert.is((await left).status, 499);
    assert.ok(calls.length >= 4);
    assert.ok(calls.every(({ signal }) => signal.aborted));
  });
});
