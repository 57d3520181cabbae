import * as assert from 'uvu/assert';
import type { Check } from '../../check.ts';
import { fetchText, moderationOf, refusalOf } from '../client.ts';
import { BACKEND_KEYS, type Worlds } from './worlds.ts';

/** What the gateway does with its backend, and what a client sees of a backend that fails. */
export const backendContract = (
  check: Check,
  { main, overOpenAi, overCloud, oneAtATime, ask, send, shared, kept }: Worlds,
): void => {
  check(
    'speaks OpenAI to a backend that has it, sends it its own keys in turn, and keeps to the rate limit',
    async () => {
      const { gateway, backend } = await overOpenAi();
      const first = await kept(send(gateway.address, { input: ['I will kill you', 'good morning'] }));
      assert.is(first.status, 200, first.text);
      assert.equal(
        moderationOf(first).results.map(({ flagged }) => flagged),
        [true, false],
      );
      assert.equal(
        backend.calls.map(({ path }) => path),
        ['/v1/chat/completions', '/v1/chat/completions'],
      );
      assert.equal(
        backend.calls.map(({ authorization }) => authorization).sort(),
        BACKEND_KEYS.map((key) => `Bearer ${key}`),
      );
      const second = await kept(send(gateway.address, { input: 'good morning' }));
      assert.is(second.status, 429);
      assert.is(refusalOf(second).code, 'rate_limit_exceeded');
      const seconds = Number(second.headers.get('retry-after'));
      assert.ok(seconds >= 1 && seconds <= 120, `Retry-After ${seconds}`);
      assert.is(backend.calls.length, 2);
    },
  );

  check('asks a backend that Ollama is in the words of Ollama', async () => {
    await ask({ input: 'in whose words?' });
    assert.equal(new Set((await main()).backend.calls.map(({ path }) => path)), new Set(['/api/chat']));
  });

  check('gives an error and not a verdict when the backend sends nonsense, and no retry is wanted', async () => {
    const answer = await ask({ input: 'please answer nonsense' });
    assert.is(answer.status, 502);
    assert.is(refusalOf(answer).code, 'backend_unusable_reply');
    assert.is(answer.headers.get('x-should-retry'), 'false');
  });

  check('gives an error when the backend breaks, and a retry is welcome', async () => {
    const answer = await ask({ input: 'please break' });
    assert.is(answer.status, 502);
    assert.is(refusalOf(answer).code, 'backend_error');
    assert.is(answer.headers.get('x-should-retry'), null);
  });

  check('one text without a verdict fails the whole list', async () => {
    assert.is((await ask({ input: ['good morning', 'please answer nonsense'] })).status, 502);
  });

  check('gives up at the time that the client gave', async () => {
    const startedAt = performance.now();
    const answer = await ask({ input: 'please hang' }, { 'x-request-timeout-ms': '300' });
    assert.is(answer.status, 504);
    assert.is(refusalOf(answer).code, 'backend_timeout');
    const tookMs = performance.now() - startedAt;
    assert.ok(tookMs > 250 && tookMs < 3000, `${tookMs} ms`);
  });

  check('has no verdict while every backend key is refused, says when to come back, and is not ready', async () => {
    const { gateway, backend } = await overCloud();
    const first = await kept(send(gateway.address, { input: 'good morning' }));
    assert.is(first.status, 503, first.text);
    assert.is(refusalOf(first).code, 'no_backend_key');
    const seconds = Number(first.headers.get('retry-after'));
    assert.ok(seconds > 30 && seconds <= 120, `Retry-After ${seconds}`);
    assert.is(first.headers.get('x-should-retry'), 'false');
    assert.equal(
      backend.calls.map(({ authorization }) => authorization).sort(),
      BACKEND_KEYS.map((key) => `Bearer ${key}`),
    );
    await shared();
    assert.is((await kept(send(gateway.address, { input: 'good evening' }))).status, 503);
    assert.is(backend.calls.length, 2);
    const ready = await kept(fetchText(`${gateway.address}/ready`));
    assert.is(ready.status, 503);
    assert.match(ready.text, 'every backend key is cooling down');
  });

  check('asks once for the same text from many at the same moment, also when the first of them leaves', async () => {
    const { gateway, backend } = await main();
    const before = backend.calls.length;
    const arrived = backend.nextCall();
    const leaver = new AbortController();
    const body = { input: 'please take your time, all of you' };
    const left = send(gateway.address, body, {}, leaver.signal).catch(() => undefined);
    await arrived;
    const others = Array.from({ length: 8 }, () => ask(body));
    setTimeout(() => leaver.abort(), 50);
    await left;
    assert.equal(
      (await Promise.all(others)).map(({ status }) => status),
      Array.from(others, () => 200),
    );
    assert.ok(backend.calls.length - before <= 2, `${backend.calls.length - before} calls`);
  });

  check('judges a key by the policy that a variable holds for it', async () => {
    const { gateway } = await oneAtATime();
    const answer = await kept(send(gateway.address, { input: 'shut up' }));
    assert.is(answer.headers.get('x-moderation-policy'), 'mild/inline-1', answer.text);
    assert.match(answer.text, '"flagged":true');
  });

  check('lets those wait for whom there is no place, and answers them all', async () => {
    const { gateway } = await oneAtATime();
    const texts = Array.from({ length: 5 }, (_, index) => `please take your time over number ${index}`);
    const seen = await Promise.all(texts.map((input) => kept(send(gateway.address, { input }))));
    assert.equal(
      seen.map(({ status }) => status),
      texts.map(() => 200),
    );
    const excess = Array.from({ length: 12 }, (_, index) => `please take your time over line ${index}`);
    const crowd = await Promise.all(excess.map((input) => kept(send(gateway.address, { input }))));
    const refusals = crowd.filter(({ status }) => status !== 200);
    assert.ok(refusals.length > 0 && refusals.length < crowd.length, `${refusals.length} refused`);
    for (const answer of refusals) {
      assert.equal([answer.status, refusalOf(answer).code], [503, 'overloaded']);
      assert.is(answer.headers.get('retry-after'), '1');
    }
  });
};
