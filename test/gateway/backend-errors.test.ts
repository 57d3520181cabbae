import * as assert from 'uvu/assert';
import type { HttpRequest } from '../../src/core/http/client.ts';
import { describe } from '../check.ts';
import { type Against, FAULTS } from './harness/faulty-answers.ts';
import { errorOf, resultsOf } from './harness/read-answer.ts';
import { type Answer, gatewayOver, judging, keyOf, received, replying } from './harness/world.ts';

const KEYS = ['backend-key-1', 'backend-key-2', 'backend-key-3'];
const DIALECTS = {
  ollama: { BACKEND_DIALECT: 'ollama' },
  openai: { BACKEND_DIALECT: 'openai', BACKEND_BASE_URL: 'http://backend.test:8080' },
} as const;
const OUTCOMES: Readonly<Record<Against, string>> = {
  key: '503 no_backend_key',
  host: '502 backend_error',
  request: '502 backend_error',
};
/** A request that is not wanted gets the one repair attempt; any other fault gets each key once. */
const callsFor = (against: Against, keys: number): number => (against === 'request' ? 2 : keys);

const failingAt = (faulty: Answer, isFaulty: (index: number) => boolean): Answer => {
  let index = 0;
  return (sent: HttpRequest) => (isFaulty(index++) ? faulty(sent) : judging({ VI: 90 })(sent));
};

for (const [dialect, settings] of Object.entries(DIALECTS)) {
  for (const keys of [KEYS.slice(0, 1), KEYS]) {
    const variables = { ...settings, BACKEND_API_KEYS: keys.join(',') };
    const world = (answer: Answer) => gatewayOver(answer, { variables });

    describe(`a backend that speaks ${dialect} and fails for ${keys.length} of ${keys.length} keys`, (check) => {
      for (const [name, { answer, against, waitSeconds }] of Object.entries(FAULTS)) {
        check(`is answered as ${OUTCOMES[against]}: ${name}`, async () => {
          const { ask, calls } = world(answer);
          const error = await errorOf(await ask({ input: 'some text' }));
          assert.is(`${error.status} ${error.code}`, OUTCOMES[against]);
          assert.is(error.retryAfter, waitSeconds === undefined ? null : String(waitSeconds));
          assert.is(error.shouldRetry, (waitSeconds ?? 0) > 30 ? 'false' : null);
          assert.is(error.type, 'server_error');
          assert.is(calls.length, callsFor(against, keys.length));
          assert.is(new Set(calls.map(keyOf)).size, Math.min(calls.length, keys.length), 'no key is asked twice');
        });

        const isSaved = keys.length > 1 || against === 'request';
        check(`${isSaved ? 'is saved' : 'is not saved'} when only its first answer fails: ${name}`, async () => {
          const { ask, calls } = world(failingAt(answer, (index) => index === 0));
          const response = await ask({ input: 'some text' });
          if (!isSaved) return assert.is((await errorOf(response)).status >= 500, true);
          assert.is((await resultsOf(response))[0]?.scores.violence, 0.9);
          assert.is(calls.length, 2);
          assert.is(new Set(calls.map(keyOf)).size, keys.length === 1 ? 1 : 2);
        });

        check(`is no verdict after an unusable answer either: ${name}`, async () => {
          let asked = 0;
          const { ask, calls } = world((sent) => (asked++ === 0 ? replying(sent, '{}') : answer(sent)));
          const { status } = await errorOf(await ask({ input: 'some text' }));
          assert.ok(status === 502 || status === 503);
          assert.is(calls.length, 1 + (against === 'request' ? 1 : keys.length));
        });
      }
    });
  }
}

describe('a backend that answers nothing', (check) => {
  check('is 504 at the deadline, and every key was asked once', async () => {
    const { ask, calls, clock } = gatewayOver(() => new Promise<never>(() => {}));
    const answer = ask({ input: 'some text' });
    await clock.advance(24_999);
    assert.equal(calls.map(keyOf).sort(), KEYS);
    await clock.advance(1);
    const error = await errorOf(await answer);
    assert.equal([error.status, error.code, error.shouldRetry], [504, 'backend_timeout', null]);
    assert.ok(calls.every(({ signal }) => signal.aborted));
    assert.is(clock.pending(), 0);
  });
  check('to one key only is saved by the next', async () => {
    const { ask, clock } = gatewayOver((sent) =>
      keyOf(sent).endsWith('1') ? new Promise<never>(() => {}) : judging()(sent),
    );
    const answer = ask({ input: 'some text' });
    await clock.advance(15_000);
    await resultsOf(await answer);
  });
});

describe('keys that cool down', (check) => {
  const limited = FAULTS['429 with 7 seconds']!.answer;
  check('are left alone until the first returns, and the wait reported is true', async () => {
    let isLimited = true;
    const { ask, calls, clock } = gatewayOver((sent) => (isLimited ? limited(sent) : judging()(sent)));
    await ask({ input: 'a' });
    await clock.advance(2000);
    const error = await errorOf(await ask({ input: 'a' }));
    assert.equal([error.code, error.retryAfter, error.shouldRetry], ['no_backend_key', '5', null]);
    assert.is(calls.length, 3);
    isLimited = false;
    await clock.advance(5000);
    await resultsOf(await ask({ input: 'a' }));
    assert.is(calls.length, 4);
  });
  check('do not take part while others can answer', async () => {
    const { ask, calls } = gatewayOver((sent) => (keyOf(sent).endsWith('1') ? limited(sent) : judging()(sent)));
    for (const input of ['a', 'b', 'c', 'd']) await resultsOf(await ask({ input }));
    assert.is(calls.filter((sent) => keyOf(sent) === 'backend-key-1').length, 1);
    assert.is(calls.length, 5);
  });
  check('are tried by one call when they return', async () => {
    const { ask, calls, clock } = gatewayOver(limited, { variables: { BACKEND_API_KEYS: 'backend-key-1' } });
    await ask({ input: 'a' });
    await clock.advance(7000);
    await Promise.all(['a', 'b', 'c', 'd'].map((input) => ask({ input })));
    assert.is(calls.length, 2);
  });
});

describe('keys stay in use', (check) => {
  const modelOf = ({ body = '' }: HttpRequest): string => (JSON.parse(body) as { model: string }).model;
  check('for the other aliases when the plan lacks the model of one', async () => {
    const forbidden = FAULTS['403 without a subscription']!.answer;
    const { ask, calls } = gatewayOver((sent) =>
      modelOf(sent) === 'gpt-oss:120b' ? forbidden(sent) : judging()(sent),
    );
    for (const input of ['a', 'b']) {
      assert.is((await errorOf(await ask({ model: 'moderation-accurate', input }))).code, 'no_backend_key');
    }
    assert.is(calls.length, 3);
    for (const input of ['c', 'd', 'e']) await resultsOf(await ask({ model: 'moderation-fast', input }));
    assert.is(new Set(calls.slice(3).map(keyOf)).size, 3);
  });
  check('after a 400 that begins with the text of a user', async () => {
    const text = 'insufficient_quota: you have reached your weekly usage limit';
    const { ask, logged } = gatewayOver(() => received(400, JSON.stringify({ error: { message: text } })));
    assert.is((await errorOf(await ask({ input: text }))).code, 'backend_error');
    assert.not.match(logged.join(), '"backend-key"');
  });
});

describe('a host that fails again and again', (check) => {
  check('is left alone for a moment, then tried once', async () => {
    let isDown = true;
    const { ask, calls, clock } = gatewayOver((sent) => (isDown ? FAULTS['500']!.answer(sent) : judging()(sent)));
    for (let index = 0; index < 5; index++) await ask({ input: 'a' });
    assert.is(calls.length, 15);
    const error = await errorOf(await ask({ input: 'a' }));
    assert.is(`${error.status} ${error.code}`, '502 backend_error');
    assert.is(calls.length, 15);
    isDown = false;
    await clock.advance(2000);
    await resultsOf(await ask({ input: 'a' }));
    assert.is(calls.length, 16);
  });
  check('is left alone when it hangs, for as long as callers are ready to wait', async () => {
    const { ask, calls, clock, logged } = gatewayOver(() => new Promise(() => {}));
    for (let index = 0; index < 5; index++) {
      const asked = ask({ input: `text ${index}` });
      await clock.advance(25_000);
      assert.is((await asked).status, 504);
    }
    const sent = calls.length;
    assert.is((await ask({ input: 'another' })).status, 502);
    assert.is(calls.length, sent);
    assert.ok(logged.some((line) => line.includes('"state":"hung"')));
  });
  check('is not blamed for callers in a hurry', async () => {
    const { ask, calls, clock } = gatewayOver(() => new Promise(() => {}));
    for (let index = 0; index < 6; index++) {
      const asked = ask({ input: `text ${index}` }, { 'x-request-timeout-ms': '1000' });
      await clock.advance(1000);
      assert.is((await asked).status, 504);
    }
    assert.is(calls.length, 6);
  });
  check('still gives the verdicts that are known', async () => {
    let isDown = false;
    const { ask } = gatewayOver((sent) => (isDown ? FAULTS['500']!.answer(sent) : judging()(sent)));
    await ask({ input: 'known' });
    isDown = true;
    for (let index = 0; index < 6; index++) await ask({ input: 'unknown' });
    await resultsOf(await ask({ input: 'known' }));
  });
});

describe('a crowd', (check) => {
  check('over the queue is 503 overloaded with a time to come back', async () => {
    const gone = Promise.withResolvers<void>();
    const { ask, calls, clock } = gatewayOver(
      async (sent) => {
        await gone.promise;
        return judging()(sent);
      },
      { variables: { MAX_CONCURRENCY: '1', MAX_INPUTS: '1', MAX_BODY_BYTES: '1024' } },
    );
    const waiting = [1, 2, 3, 4, 5].map((number) => ask({ input: `text ${number}` }));
    await clock.advance(0);
    const error = await errorOf(await ask({ input: 'one too many' }));
    assert.equal([error.status, error.code, error.retryAfter, error.shouldRetry], [503, 'overloaded', '1', null]);
    assert.is(calls.length, 1);
    gone.resolve();
    for (const answer of waiting) await resultsOf(await answer);
  });
});

describe('the largest request', (check) => {
  check('fits into the queue, however few calls may run at once', async () => {
    const { ask, calls } = gatewayOver(judging(), { variables: { MAX_CONCURRENCY: '1' } });
    const input = Array.from({ length: 32 }, (_, index) => `text ${index}`);
    assert.is((await resultsOf(await ask({ input }))).length, 32);
    assert.is(calls.length, 32);
  });
});

describe('the largest body', (check) => {
  check('of windows that overlap fits into the queue as well', async () => {
    const variables = { MAX_CONCURRENCY: '1', MODERATION_WINDOW_CHARS: '2000', MAX_INPUT_CHARS: '1040000' };
    const { ask } = gatewayOver(judging(), { variables });
    assert.is((await resultsOf(await ask({ input: 'word '.repeat(208_000) }))).length, 1);
  });
});

describe('a bug', (check) => {
  check('is 500 without a word about it', async () => {
    const needs = {
      digest(text: string) {
        if (text.includes('canary')) throw new TypeError(text);
        return text;
      },
    };
    const { ask, logged } = gatewayOver(judging(), { needs });
    const error = await errorOf(await ask({ input: 'canary' }));
    assert.equal([error.status, error.code], [500, 'internal_error']);
    assert.not.match(error.message + logged.join(), /canary/, logged.join());
  });
});
