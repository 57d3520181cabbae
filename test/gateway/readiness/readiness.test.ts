import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { HttpClientError, type HttpResponse } from '../../../src/core/http/client.ts';
import { describe } from '../../check.ts';
import { gatewayOver, received } from '../harness/world.ts';
import { ALL, Ready, readyOver, tags } from './world.ts';

describe('health', (check) => {
  check('is reported without a key and without asking the backend', async () => {
    const { visit, calls } = gatewayOver(() => received(500, ''));
    const response = await visit('/health', 'GET', { authorization: '' });
    assert.equal(await response.json(), { status: 'ok', service: 'gateway', version: '0.1.0' });
    assert.is(calls.length, 0);
  });
});

describe('readiness', (check) => {
  check('is given while the backend lists every model', async () => {
    const { ready } = readyOver(() => tags(ALL));
    assert.equal(await ready(), { status: 'ready' });
  });

  check('ends while the breaker is open, without asking', async () => {
    const { ready, ask, asked } = readyOver(() => tags(ALL));
    for (let index = 0; index < 5; index++) await ask({ input: 'a' });
    assert.equal(await ready(), { status: 'not ready', reasons: ['the backend failed several times in a row'] });
    assert.is(asked(), 0);
  });

  check('is logged when it changes, and not each time it is asked for', async () => {
    let listed = ['gpt-oss:20b'];
    const { ready, clock, logged } = readyOver(() => tags(listed));
    const reported = () => logged.map((line) => JSON.parse(line)).filter(({ event }) => /ready$/.test(event));
    await ready();
    await ready();
    assert.equal(
      reported().map(({ level, event }) => [level, event]),
      [['warn', 'ready']],
    );
    assert.match(reported()[0].reason, 'no model for moderation-accurate');
    listed = [];
    await clock.advance(5000);
    await ready();
    listed = ALL;
    await clock.advance(5000);
    await ready();
    assert.equal(
      reported().map(({ level, event }) => `${level} ${event}`),
      ['warn ready', 'warn not-ready', 'info ready'],
    );
  });

  const REASONS: Readonly<Record<string, readonly [listing: () => HttpResponse, reason: RegExp]>> = {
    'no model is there': [() => tags(['llama3:8b']), /none of the models that the aliases need: .*MODERATION_MODELS$/],
    'the list is empty': [() => tags([]), /none of the models/],
    'the key is refused by 401': [() => received(401, 'unauthorized'), /refuses its key \(HTTP 401\)/],
    'the key is refused by 403': [() => received(403, ''), /refuses its key \(HTTP 403\)/],
    'the backend is in trouble': [() => received(503, ''), /answers HTTP 503/],
    'a portal answers': [() => received(200, '<html>log in</html>'), /lists no models/],
    'nobody answers': [
      () => {
        throw new HttpClientError('ECONNREFUSED');
      },
      /is not reached \(ECONNREFUSED\)/,
    ],
  };

  for (const [name, [listing, reason]] of Object.entries(REASONS)) {
    check(`is refused with the reason when ${name}`, async () => {
      const { visit } = readyOver(listing);
      const response = await visit('/ready');
      assert.is(response.status, 503);
      const { status, reasons = [] } = v.parse(Ready, await response.json());
      assert.is(status, 'not ready');
      assert.is(reasons.length, 1);
      assert.match(reasons[0] ?? '', reason);
    });
  }

  check('is refused when the backend does not answer within 3 s', async () => {
    const { ready, clock } = readyOver(() => new Promise<never>(() => {}));
    const answer = ready();
    await clock.advance(3000);
    assert.match((await answer).reasons?.[0] ?? '', /does not answer in time/);
    assert.is(clock.pending(), 0);
  });

  check('is refused while every key cools down, without asking', async () => {
    const { ready, ask, clock, asked } = readyOver(() => tags(ALL), {}, received(401, 'unauthorized'));
    await ask({ input: 'a' });
    assert.match(
      (await ready()).reasons?.[0] ?? '',
      /^every backend key is cooling down: the backend has refused it; check BACKEND_API_KEYS/,
    );
    assert.is(asked(), 0);
    await clock.advance(600_000);
    assert.is((await ready()).status, 'ready');
  });

  check('asks with a key that is not cooling down', async () => {
    const keys: string[] = [];
    const { ask, visit } = gatewayOver((sent) => {
      if (sent.method === 'GET') keys.push(sent.headers.authorization ?? '');
      return sent.method === 'GET'
        ? tags(ALL)
        : sent.headers.authorization?.endsWith('1')
          ? received(401, '')
          : received(500, '');
    });
    await ask({ input: 'a' });
    await visit('/ready');
    assert.equal(keys, ['Bearer backend-key-2']);
  });

  check('is refused while the service stops', async () => {
    const { ready, asked } = readyOver(() => tags(ALL), { needs: { isStopping: () => true } });
    assert.match((await ready()).reasons?.[0] ?? '', /is stopping/);
    assert.is(asked(), 0);
  });

  check('asks the backend at most once in 5 s', async () => {
    const { ready, clock, asked } = readyOver(() => tags(ALL));
    await Promise.all([ready(), ready(), ready()]);
    await clock.advance(4999);
    await ready();
    assert.is(asked(), 1);
    await clock.advance(1);
    await ready();
    assert.is(asked(), 2);
  });

  check('asks again after a bad answer, as seldom', async () => {
    let isUp = false;
    const { ready, clock, asked } = readyOver(() => (isUp ? tags(ALL) : received(500, '')));
    assert.is((await ready()).status, 'not ready');
    isUp = true;
    assert.is((await ready()).status, 'not ready');
    await clock.advance(5000);
    assert.is((await ready()).status, 'ready');
    assert.is(asked(), 2);
  });
});
