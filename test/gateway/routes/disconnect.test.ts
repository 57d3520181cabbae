import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { errorOf, resultsOf } from '../harness/read-answer.ts';
import { gatewayOver, judging, keyOf, received } from '../harness/world.ts';

const silence = () => new Promise<never>(() => {});

describe('a client that leaves', (check) => {
  check('ends the backend call at once, and nothing is left waiting', async () => {
    const { ask, calls, clock } = gatewayOver(silence);
    const client = new AbortController();
    const answer = ask({ input: 'a' }, {}, client.signal);
    await clock.advance(100);
    assert.is(calls[0]?.signal.aborted, false);
    client.abort();
    await clock.advance(0);
    assert.is(calls[0]?.signal.aborted, true);
    assert.is((await answer).status, 499);
    assert.is(clock.pending(), 0);
    assert.is(calls.length, 1);
  });

  check('ends all of its calls', async () => {
    const { ask, calls, clock } = gatewayOver(silence, { variables: { MAX_CONCURRENCY: '2' } });
    const client = new AbortController();
    const answer = ask({ input: ['a', 'b', 'c', 'd'] }, {}, client.signal);
    await clock.advance(100);
    client.abort();
    assert.is((await answer).status, 499);
    await clock.advance(60_000);
    assert.is(calls.length, 2, 'what waited for its turn is not sent any more');
    assert.ok(calls.every(({ signal }) => signal.aborted));
  });

  check('ends the way from key to key', async () => {
    const client = new AbortController();
    const { ask, calls, clock } = gatewayOver((sent) => {
      if (!keyOf(sent).endsWith('2')) return received(500, '');
      client.abort();
      return silence();
    });
    const answer = ask({ input: 'a' }, {}, client.signal);
    assert.is((await answer).status, 499);
    await clock.advance(60_000);
    assert.equal(calls.map(keyOf), ['backend-key-1', 'backend-key-2']);
  });

  check('between two calls stops the next', async () => {
    const client = new AbortController();
    const { ask, calls, clock } = gatewayOver(() => {
      client.abort();
      return received(401, '');
    });
    assert.is((await ask({ input: 'a' }, {}, client.signal)).status, 499);
    await clock.advance(60_000);
    assert.is(calls.length, 1);
  });

  check('before the repair attempt stops it', async () => {
    const client = new AbortController();
    const { ask, calls, clock } = gatewayOver(() => {
      client.abort();
      return received(200, '{}');
    });
    assert.is((await ask({ input: 'a' }, {}, client.signal)).status, 499);
    await clock.advance(60_000);
    assert.is(calls.length, 1);
  });

  check('before it was served costs no call', async () => {
    const { ask, calls } = gatewayOver(judging());
    assert.is((await ask({ input: 'a' }, {}, AbortSignal.abort())).status, 499);
    assert.is(calls.length, 0);
  });

  check('leaves no key half-open behind', async () => {
    let isLimited = true;
    let isSilent = false;
    const { ask, calls, clock } = gatewayOver(
      (sent) => {
        if (isLimited) return received(429, '', { 'retry-after': '5' });
        return isSilent ? silence() : judging()(sent);
      },
      { variables: { BACKEND_API_KEYS: 'only-key' } },
    );
    assert.is((await errorOf(await ask({ input: 'a' }))).code, 'no_backend_key');
    isLimited = false;
    isSilent = true;
    await clock.advance(5000);
    const client = new AbortController();
    const probing = ask({ input: 'a' }, {}, client.signal);
    await clock.advance(100);
    assert.is(calls.length, 2);
    client.abort();
    assert.is((await probing).status, 499);
    isSilent = false;
    await resultsOf(await ask({ input: 'a' }));
    assert.is(calls.length, 3);
  });

  check('lets those go on who waited for what it tried', async () => {
    let isLimited = true;
    const { ask, calls, clock } = gatewayOver(
      (sent) => {
        if (isLimited) return received(429, '', { 'retry-after': '5' });
        return calls.length === 2 ? silence() : judging()(sent);
      },
      { variables: { BACKEND_API_KEYS: 'only-key' } },
    );
    await ask({ input: 'a' });
    isLimited = false;
    await clock.advance(5000);
    const client = new AbortController();
    const probing = ask({ input: 'a' }, {}, client.signal);
    await clock.advance(10);
    const waiting = ask({ input: 'b' });
    await clock.advance(10);
    assert.is(calls.length, 2);
    client.abort();
    assert.is((await probing).status, 499);
    await resultsOf(await waiting);
  });

  check('is nothing against the host', async () => {
    let isSilent = true;
    const { ask, clock } = gatewayOver((sent) => (isSilent ? silence() : judging()(sent)));
    for (let index = 0; index < 10; index++) {
      const client = new AbortController();
      const answer = ask({ input: 'a' }, {}, client.signal);
      await clock.advance(100);
      client.abort();
      await answer;
    }
    isSilent = false;
    await resultsOf(await ask({ input: 'a' }));
  });

  check('leaves its place to others', async () => {
    let isSilent = true;
    const { ask, clock } = gatewayOver((sent) => (isSilent ? silence() : judging()(sent)), {
      variables: { MAX_CONCURRENCY: '1' },
    });
    const client = new AbortController();
    const answer = ask({ input: 'a' }, {}, client.signal);
    await clock.advance(100);
    const next = ask({ input: 'b' });
    await clock.advance(100);
    isSilent = false;
    client.abort();
    await answer;
    await resultsOf(await next);
  });
});
