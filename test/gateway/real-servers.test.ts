import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { type Meaning, REAL_ERRORS, REAL_REPLIES } from '../llm/real-servers.ts';
import { errorOf, resultsOf } from './harness/read-answer.ts';
import { type Answer, gatewayOver, judging, keyOf, nonceOf, received, verdictJson } from './harness/world.ts';

const DIALECTS = {
  ollama: { BACKEND_DIALECT: 'ollama' },
  openai: { BACKEND_DIALECT: 'openai', BACKEND_BASE_URL: 'http://backend.test:8080' },
} as const;

type Outcome = { readonly error: string; readonly calls: number; readonly mayRetry: boolean };
const ONCE: Outcome = { error: '502 backend_error', calls: 1, mayRetry: false };
/** What a client hears, over three keys. */
const OUTCOMES: Readonly<Record<Exclude<Meaning, 'busy'>, Outcome>> = {
  'too long': ONCE,
  'no thinking': ONCE,
  'no template': ONCE,
  unusable: { error: '502 backend_unusable_reply', calls: 2, mayRetry: false },
  missing: { error: '502 backend_error', calls: 3, mayRetry: true },
  host: { error: '502 backend_error', calls: 3, mayRetry: true },
};
/** A backend that answers as it did for the first calls, and then judges. */
const failingFirst = (failing: Answer, times: number): Answer => {
  let index = 0;
  return (sent) => (index++ < times ? failing(sent) : judging({ VI: 90 })(sent));
};

describe('a real server that fails', (check) => {
  for (const [name, { dialect, meaning, status, headers, text }] of Object.entries(REAL_ERRORS)) {
    const answer: Answer = () => received(status, text, headers);
    if (meaning === 'busy') continue;
    const { error: expected, calls: count, mayRetry } = OUTCOMES[meaning];
    check(`is answered as ${expected} after ${count}: ${name}`, async () => {
      const { ask, calls, logged } = gatewayOver(answer, { variables: DIALECTS[dialect] });
      const error = await errorOf(await ask({ input: 'some text' }));
      assert.is(`${error.status} ${error.code}`, expected);
      assert.is(error.shouldRetry, mayRetry ? null : 'false');
      assert.is(calls.length, count);
      if (count === 1) assert.not.match(error.message, /HTTP \d/);
      assert.not.match(logged.join(), '"backend-key"');
    });
    if (meaning !== 'host' && meaning !== 'missing') {
      check(`is not left alone by the breaker: ${name}`, async () => {
        const { ask, logged } = gatewayOver(answer, { variables: DIALECTS[dialect] });
        for (let index = 0; index < 6; index++) await ask({ input: `text ${index}` });
        assert.not.match(logged.join(), '"backend-breaker"');
      });
    }
  }
});

describe('a real server that is busy', (check) => {
  for (const [name, { dialect, meaning, status, headers, text }] of Object.entries(REAL_ERRORS)) {
    if (meaning !== 'busy') continue;
    const answer: Answer = () => received(status, text, headers);
    for (const keys of ['backend-key-1', 'backend-key-1,backend-key-2']) {
      const variables = { ...DIALECTS[dialect], BACKEND_API_KEYS: keys };
      const keyCount = keys.split(',').length;
      check(`is asked again until it judges, over ${keyCount} of ${keyCount} keys: ${name}`, async () => {
        const { ask, calls, clock } = gatewayOver(failingFirst(answer, 6), { variables });
        const asked = ask({ input: 'some text' });
        await clock.advance(12_000);
        const [result] = await resultsOf(await asked);
        assert.is(result?.scores.violence, 0.9);
        assert.is(calls.length, 7);
        assert.is(clock.pending(), 0);
      });
      check(
        `is 503 overloaded when it stays so, and the breaker counts nothing, over ${keyCount}: ${name}`,
        async () => {
          const { ask, calls, clock, logged } = gatewayOver(answer, { variables });
          for (let index = 0; index < 6; index++) {
            const asked = ask({ input: `text ${index}` });
            await clock.advance(25_000);
            const error = await errorOf(await asked);
            assert.equal(
              [error.status, error.code, error.retryAfter, error.shouldRetry],
              [503, 'overloaded', '5', null],
            );
          }
          assert.ok(calls.length >= 6 * 10 && calls.length <= 6 * 20, `${calls.length} calls`);
          assert.not.match(logged.join(), /"backend-breaker"|"backend-key"/);
        },
      );
    }
    check(`is not blamed when it takes the call too late: ${name}`, async () => {
      let isBusy = true;
      const { ask, clock, logged } = gatewayOver((sent) => (isBusy ? answer(sent) : new Promise<never>(() => {})), {
        variables: { ...DIALECTS[dialect], BACKEND_API_KEYS: 'backend-key-1' },
      });
      for (let index = 0; index < 6; index++) {
        isBusy = true;
        const asked = ask({ input: `text ${index}` });
        await clock.advance(100);
        isBusy = false;
        await clock.advance(25_000);
        assert.is((await errorOf(await asked)).code, 'backend_timeout');
      }
      assert.not.match(logged.join(), /"backend-breaker"/);
    });
    check(`lets a caller go that leaves while it waits: ${name}`, async () => {
      const { ask, clock } = gatewayOver(answer, { variables: DIALECTS[dialect] });
      const client = new AbortController();
      const asked = ask({ input: 'some text' }, {}, client.signal);
      await clock.advance(1000);
      client.abort();
      assert.is((await asked).status, 499);
      assert.is(clock.pending(), 0);
    });
  }
  check('and says so while it loads, is not ready', async () => {
    const { status, headers, text } = REAL_ERRORS['llama.cpp while it loads']!;
    for (const BACKEND_DIALECT of ['auto', 'openai']) {
      const variables = { BACKEND_BASE_URL: 'http://backend.test:8080', BACKEND_DIALECT };
      const { visit, ask, clock, logged } = gatewayOver(() => received(status, text, headers), { variables });
      const response = await visit('/ready');
      assert.is(response.status, 503);
      assert.match(await response.text(), 'the backend is loading its model');
      const asked = ask({ input: 'some text' });
      await clock.advance(25_000);
      assert.is((await errorOf(await asked)).code, 'overloaded');
      assert.not.match(logged.join(), '"backend-breaker"');
    }
  });
});

describe('a real server that answers', (check) => {
  for (const [name, { dialect, headers, write }] of Object.entries(REAL_REPLIES)) {
    check(`gives its verdict, with the first call: ${name}`, async () => {
      const { ask, calls } = gatewayOver(
        (sent) => {
          const { model } = JSON.parse(sent.body ?? '') as { model: string };
          return received(200, JSON.stringify(write(model, verdictJson(nonceOf(sent), { VI: 90 }), 1054)), headers);
        },
        { variables: DIALECTS[dialect] },
      );
      const [result] = await resultsOf(await ask({ input: 'some text' }));
      assert.is(result?.scores.violence, 0.9);
      assert.equal(calls.map(keyOf), ['backend-key-1']);
    });
  }
});
