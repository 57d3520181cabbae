import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { judgedBy, parsePolicy } from '../harness/policies.ts';
import { errorOf, resultsOf } from '../harness/read-answer.ts';
import { createReplicas } from '../harness/replicas.ts';
import { type Answer, gatewayOver, judging, replying, shownTextOf } from '../harness/world.ts';

const VARIABLES = { MODERATION_WINDOW_CHARS: '1000', CACHE_TTL_SECONDS: '100' };
const lines = (from: number, count: number): string =>
  Array.from({ length: count }, (_, index) => `This is line ${from + index} of a long text.\n`).join('');
const SHORT = lines(1000, 100);
const GROWN = SHORT + lines(1100, 10);

describe('a long text that grows', (check) => {
  check('costs the windows of its new end', async () => {
    const { ask, calls } = gatewayOver(judging(), { variables: VARIABLES });
    await ask({ input: SHORT });
    assert.is(calls.length, 4);
    const answer = await ask({ input: GROWN });
    assert.equal([calls.length, answer.headers.get('x-moderation-cache')], [6, 'miss']);
    await ask({ input: `A new beginning. ${GROWN}` });
    assert.is(calls.length, 10, 'every window is another one then but the last, which ends alike');
  });

  check('keeps what was found in the windows that it had', async () => {
    const finding: Answer = (sent) => judging(shownTextOf(sent).includes('line 1001 ') ? { VI: 90 } : {})(sent);
    const { ask, calls } = gatewayOver(finding, { variables: VARIABLES });
    for (const input of [SHORT, GROWN]) assert.is((await resultsOf(await ask({ input })))[0]?.flagged, true);
    assert.is(calls.length, 6);
  });

  check('is judged anew when the oldest of its windows is too old', async () => {
    const { ask, calls, clock } = gatewayOver(judging(), { variables: VARIABLES });
    await ask({ input: SHORT });
    await clock.advance(60_000);
    await ask({ input: GROWN });
    await clock.advance(39_999);
    assert.is((await ask({ input: GROWN })).headers.get('x-moderation-cache'), 'hit');
    await clock.advance(1);
    assert.is((await ask({ input: GROWN })).headers.get('x-moderation-cache'), 'miss');
    assert.is(calls.length, 6 + 3, 'all but the windows of the second request');
  });

  check('is judged anew when the oldest is too old also where it took windows of several ages', async () => {
    const { ask, calls, clock } = gatewayOver(judging(), { variables: VARIABLES });
    const longest = GROWN + lines(1110, 60);
    for (const input of [SHORT, GROWN, longest]) {
      await ask({ input });
      await clock.advance(30_000);
    }
    const { length } = calls;
    await clock.advance(9999);
    assert.is((await ask({ input: longest })).headers.get('x-moderation-cache'), 'hit');
    await clock.advance(1);
    assert.is((await ask({ input: longest })).headers.get('x-moderation-cache'), 'miss');
    assert.is(calls.length, length + 3, 'the windows of the first request that are left in it');
  });

  check('is not given the windows of another model or policy', async () => {
    const variables = { ...VARIABLES, MODERATION_MODELS: '{"other":"gemma4:31b"}' };
    const { ask, calls } = gatewayOver(judging(), { variables });
    await ask({ input: SHORT });
    await ask({ input: GROWN, model: 'other' });
    assert.is(calls.length, 4 + 5);
    const { shared } = createReplicas();
    const strict = judgedBy(parsePolicy('{"version":"1","guidance":"Be strict."}')).needs;
    for (const needs of [{ shared }, { shared, ...strict }]) {
      const world = gatewayOver(judging(), { variables: VARIABLES, needs });
      await world.ask({ input: SHORT });
      assert.is(world.calls.length, 4);
    }
    const replica = gatewayOver(judging(), { variables: VARIABLES, needs: { shared } });
    await replica.ask({ input: GROWN });
    assert.is(replica.calls.length, 2, 'another replica has judged the others by the same policy');
  });

  check('has no verdict while one window has none, and the others are not judged again', async () => {
    let isBroken = true;
    const { ask, calls } = gatewayOver(
      (sent) =>
        isBroken && shownTextOf(sent).includes('line 1099 ') ? replying(sent, '{}') : judging({ VI: 60 })(sent),
      { variables: { ...VARIABLES, MAX_CONCURRENCY: '1' } },
    );
    assert.is((await errorOf(await ask({ input: SHORT }))).code, 'backend_unusable_reply');
    const before = calls.length;
    isBroken = false;
    assert.is((await resultsOf(await ask({ input: SHORT })))[0]?.flagged, true);
    assert.is(calls.length - before, 1);
  });
});
