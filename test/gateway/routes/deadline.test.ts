import * as assert from 'uvu/assert';
import { deadlineMsFor } from '../../../src/gateway/routes/deadline.ts';
import { describe } from '../../check.ts';
import { errorOf, resultsOf } from '../harness/read-answer.ts';
import { GATEWAY_KEY, gatewayOver, judging, keyOf, received } from '../harness/world.ts';

const silence = () => new Promise<never>(() => {});
const LIMIT_MS = 25_000;

describe('the time a request may take', (check) => {
  const REPORTED: readonly (readonly [headers: Record<string, string>, ms: number])[] = [
    [{}, LIMIT_MS],
    [{ 'x-request-timeout-ms': '1500' }, 1500],
    [{ 'x-stainless-timeout': '3' }, 3000],
    [{ 'x-stainless-timeout': '0.25' }, 250],
    [{ 'x-stainless-read-timeout': '4' }, 4000],
    [{ 'x-stainless-timeout': '3', 'x-request-timeout-ms': '900' }, 900],
    [{ 'x-stainless-timeout': '3', 'x-stainless-read-timeout': '2' }, 2000],
    [{ 'x-stainless-timeout': '600' }, LIMIT_MS],
    [{ 'x-request-timeout-ms': '999999999' }, LIMIT_MS],
    ...['0', '-5', 'soon', '', 'NaN', 'Infinity', '1e3', '0x10', '1,5', '5 s', '9'.repeat(40)].map(
      (odd) => [{ 'x-request-timeout-ms': odd, 'x-stainless-timeout': odd }, LIMIT_MS] as const,
    ),
  ];
  for (const [headers, ms] of REPORTED) {
    check(`is ${ms} ms with ${JSON.stringify(headers)}`, () =>
      assert.is(deadlineMsFor(new Headers(headers), LIMIT_MS), ms),
    );
  }

  check('ends in 504 to the millisecond', async () => {
    const { ask, clock, calls } = gatewayOver(silence, { variables: { REQUEST_DEADLINE_MS: '9000' } });
    let isAnswered = false;
    const answer = ask({ input: 'a' }).finally(() => {
      isAnswered = true;
    });
    await clock.advance(8999);
    assert.is(isAnswered, false);
    await clock.advance(1);
    assert.is((await errorOf(await answer)).code, 'backend_timeout');
    assert.ok(calls.every(({ signal }) => signal.aborted));
  });

  check('ends in an error when the gateway is about to stop', async () => {
    const stopping = new AbortController();
    const { ask, calls } = gatewayOver(silence, { needs: { stopSignal: stopping.signal } });
    const answer = ask({ input: 'a' });
    while (calls.length === 0) await new Promise(setImmediate);
    stopping.abort();
    const { status, code, message, retryAfter } = await errorOf(await answer);
    assert.equal([status, code, retryAfter], [503, 'unavailable', '1']);
    assert.match(message, 'The gateway is being stopped');
    assert.ok(calls.every(({ signal }) => signal.aborted));
    assert.is((await errorOf(await ask({ input: 'later' }))).code, 'unavailable');
  });

  check('is answered as flagged when the gateway is about to stop, where that is wanted', async () => {
    const stopping = new AbortController();
    const { ask, calls } = gatewayOver(silence, {
      variables: { NO_VERDICT: 'flag' },
      needs: { stopSignal: stopping.signal },
    });
    const answer = ask({ input: 'a' });
    while (calls.length === 0) await new Promise(setImmediate);
    stopping.abort();
    const response = await answer;
    assert.is(response.headers.get('x-moderation-no-verdict'), 'unavailable');
    assert.ok((await resultsOf(response)).every(({ flagged }) => flagged));
  });

  check('is shortened by a client that waits for less', async () => {
    const { ask, clock } = gatewayOver(silence);
    const answer = ask({ input: 'a' }, { 'x-stainless-timeout': '2' });
    await clock.advance(2000);
    assert.is((await errorOf(await answer)).status, 504);
  });

  check('is for the whole request and not for each call', async () => {
    const { ask, clock, calls } = gatewayOver(
      (sent) =>
        new Promise((resolve) => {
          clock.after(4000, () => resolve(keyOf(sent).endsWith('3') ? judging()(sent) : received(500, '')));
        }),
      { variables: { REQUEST_DEADLINE_MS: '10000' } },
    );
    const answer = ask({ input: 'a' });
    await clock.advance(9999);
    assert.is(calls.length, 3);
    await clock.advance(1);
    assert.is((await errorOf(await answer)).status, 504);
  });

  check('goes on running while the request waits for its turn', async () => {
    const { ask, clock, calls } = gatewayOver(silence, { variables: { MAX_CONCURRENCY: '1', BACKEND_API_KEYS: 'k' } });
    const first = ask({ input: 'a' });
    const second = ask({ input: 'b' }, { 'x-request-timeout-ms': '1000' });
    await clock.advance(1000);
    assert.is((await errorOf(await second)).status, 504);
    assert.is(calls.length, 1);
    await clock.advance(24_000);
    assert.is((await errorOf(await first)).status, 504);
  });

  check('is over for a body that does not arrive', async () => {
    const { app, clock } = gatewayOver(judging());
    const init: RequestInit & { duplex: 'half' } = {
      method: 'POST',
      headers: { authorization: `Bearer ${GATEWAY_KEY}`, 'content-type': 'application/json' },
      body: new ReadableStream(),
      duplex: 'half',
    };
    const answer = app(new Request('http://gateway.test/v1/moderations', init));
    await clock.advance(LIMIT_MS);
    const error = await errorOf(await answer);
    assert.equal([error.status, error.code, error.shouldRetry], [408, 'body_timeout', 'false']);
  });

  check('leaves no timer behind, however the request ends', async () => {
    const { ask, clock } = gatewayOver((sent) => (keyOf(sent).endsWith('1') ? received(500, '') : judging()(sent)), {
      variables: { HEDGE_AFTER_MS: '500' },
    });
    await resultsOf(await ask({ input: ['a', 'b', 'c'] }));
    await ask({ input: '' });
    await ask('no JSON');
    await ask({ input: 'a' }, { authorization: 'Bearer no' });
    assert.is(clock.pending(), 0);
  });
});

describe('a caller who joins work late', (check) => {
  check('gets the rest of its own time, not that of the caller who began', async () => {
    let isSilent = true;
    const { ask, clock } = gatewayOver((sent) => (isSilent ? new Promise(() => {}) : judging()(sent)));
    const first = ask({ input: 'same' });
    await clock.advance(24_900);
    const second = ask({ input: 'same' });
    await clock.advance(0);
    isSilent = false;
    await clock.advance(100);
    assert.is((await first).status, 504);
    assert.is((await second).status, 200);
  });
});
