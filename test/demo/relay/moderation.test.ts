import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { image, text } from '../../gateway/harness/image-inputs.ts';
import { judging } from '../../gateway/harness/world.ts';
import { ALICE, CAROL, relayBefore, relayOver } from './moderated.ts';

const verdict = (scores: Readonly<Record<string, unknown>>, flagged: unknown = false): Response =>
  Response.json({ results: [{ flagged, category_scores: scores }] });
const inputOf = async (request: Request | undefined): Promise<unknown> => {
  const body = (await request?.clone().json()) as { input: unknown } | undefined;
  return body?.input;
};

describe('a relay that gets no verdict', (check) => {
  const FREEZES = [
    [400, 0],
    [401, 600_000],
    [403, 600_000],
    [404, 10_000],
    [413, 10_000],
    [429, 60_000],
    [500, 10_000],
    [502, 10_000],
    [503, 10_000],
    [504, 10_000],
    [529, 60_000],
  ] as const;
  for (const [status, ms] of FREEZES) {
    check(`passes the request, and freezes the key for ${ms / 1000} s after a ${status}, for all users`, async () => {
      const { say, frozenMs, statuses, asked, clock } = relayOver(async () => new Response(null, { status }));
      assert.is(await say('hello'), 'passed');
      assert.is(asked.length, 1, 'with one key, nothing is left to try');
      assert.equal(await frozenMs(), [ms]);
      assert.equal(
        (await statuses()).map((one) => [one.last_http_status, one.status]),
        [[status, ms > 0 ? 'frozen' : 'ok']],
      );
      if (ms === 0) return;
      assert.is(await say('hello', CAROL), 'passed');
      assert.is(asked.length, 1, 'nothing is asked while it is frozen');
      await clock.advance(ms);
      await say('hello', CAROL);
      assert.is(asked.length, 2);
    });
  }
  const NO_VERDICTS = {
    'no JSON': () => new Response('ok'),
    'no result': () => Response.json({ results: [] }),
    'a score in words': () => verdict({ violence: '1' }),
    'flagged in words': () => verdict({ violence: 1 }, 'yes'),
  };
  for (const [name, answer] of Object.entries(NO_VERDICTS)) {
    check(`takes a 200 with ${name} for a failure, and freezes the key for 10 s`, async () => {
      const { say, frozenMs } = relayOver(async () => answer());
      assert.is(await say('hello'), 'passed');
      assert.equal(await frozenMs(), [10_000]);
    });
  }
  check('freezes every key with one request', async () => {
    const { say, frozenMs, clock } = relayOver(async () => new Response(null, { status: 502 }), { keys: ['a', 'b'] });
    const said = say('hello');
    await clock.advance(300);
    assert.is(await said, 'passed');
    assert.ok((await frozenMs()).every((ms) => ms > 9000));
  });
  check('asks three times where there is no connection or no answer in its time, and freezes nothing', async () => {
    const gone = relayOver(() => Promise.reject(new TypeError('fetch failed')));
    const said = gone.say('hello');
    await gone.clock.advance(300);
    assert.equal([await said, gone.asked.length, await gone.frozenMs()], ['passed', 3, [0]]);
    const silent = relayOver(() => new Promise(() => {}));
    const waited = silent.say('hello');
    await silent.clock.advance(9299);
    assert.is(await Promise.race([waited, Promise.resolve('waits')]), 'waits');
    await silent.clock.advance(1);
    assert.equal([await waited, silent.asked.length, await silent.frozenMs()], ['passed', 3, [0]]);
  });
  check('is seen in the log of its moderation, and thaws a key when a test of it succeeds', async () => {
    let isDown = true;
    const { say, admin, frozenMs } = relayOver(async () =>
      isDown ? new Response(null, { status: 401 }) : verdict({}),
    );
    await say('hello');
    const { items } = (await admin('risk-control/logs')) as { items: { action: string }[] };
    assert.is(items[0]?.action, 'error');
    await admin('risk-control/api-keys/test', 'POST', { prompt: 'hello' });
    assert.equal(await frozenMs(), [600_000]);
    isDown = false;
    await admin('risk-control/api-keys/test', 'POST', { prompt: 'hello' });
    assert.equal(await frozenMs(), [600_000], 'a test with a prompt thaws nothing');
    const { audit_result } = (await admin('risk-control/api-keys/test', 'POST', {})) as { audit_result: object };
    assert.equal(audit_result, { flagged: false, category_scores: {} });
    assert.equal(await frozenMs(), [0]);
  });
});

describe('a relay that gets a verdict', (check) => {
  check('ignores what is flagged, and compares the scores with thresholds of its own', async () => {
    const scored = (name: string, score: number) =>
      relayOver(async () => verdict({ [name]: score }, true)).say('hello');
    assert.is(await scored('violence', 0.9), 'passed');
    assert.is(await scored('violence', 0.95), 'content_policy_violation');
    assert.is(await scored('harassment', 0.97), 'passed');
    assert.is(await scored('hate', 0.65), 'content_policy_violation');
    assert.is(await scored('hate', 0.64), 'passed');
    assert.is(await scored('a category of its own', 1), 'passed');
  });
  check('blocks nothing in the mode observe', async () => {
    const { say, settings } = relayOver(async () => verdict({ hate: 1 }));
    settings.mode = 'observe';
    assert.is(await say('hello'), 'passed');
  });
  check('has judged the last message alone, its first 12,000 characters and one of its images', async () => {
    const { chat, asked } = relayOver(async () => verdict({}));
    const user = (content: unknown) => ({ role: 'user', content });
    await chat([user('earlier'), { role: 'assistant', content: 'yes' }, user(`${'a'.repeat(12_000)} the rest`)]);
    assert.is(await inputOf(asked[0]), 'a'.repeat(12_000));
    await chat([user([text('look'), image('data:image/png;base64,AAAA'), image('data:image/png;base64,BBBB')])]);
    assert.equal(await inputOf(asked[1]), [text('look'), image('data:image/png;base64,AAAA')]);
    await chat([user('bad'), { role: 'tool', content: 'the last message' }]);
    assert.is(asked.length, 2, 'what is not the last message of a user is not judged');
  });
  check('disables a user after ten hits, but no admin, and an admin enables the user again', async () => {
    const { say, admin, world, settings } = relayOver(async () => verdict({ hate: 1 }));
    for (let hit = 0; hit < 10; hit++) assert.is(await say('hello'), 'content_policy_violation');
    assert.is(await say('hello'), 'USER_INACTIVE');
    for (let hit = 0; hit < 11; hit++) assert.is(await say('hello', 1), 'content_policy_violation');
    await admin(`risk-control/users/${ALICE}/unban`, 'POST');
    assert.is(world.users.find(({ id }) => id === ALICE)?.status, 'active');
    settings.auto_ban_enabled = false;
    for (let hit = 0; hit < 11; hit++) assert.is(await say('hello'), 'content_policy_violation');
  });
  check('forgets hits after 720 hours', async () => {
    const { say, clock } = relayOver(async () => verdict({ hate: 1 }));
    for (let hit = 0; hit < 9; hit++) await say('hello');
    await clock.advance(720 * 3_600_000);
    for (let hit = 0; hit < 9; hit++) await say('hello');
    assert.is(await say('hello'), 'content_policy_violation');
    assert.is(await say('hello'), 'USER_INACTIVE');
  });
});

describe('a relay before a gateway', (check) => {
  const harmful = judging({ VI: 60 });
  check('blocks what the gateway flags once its thresholds are those of the policy', async () => {
    const relay = relayBefore(harmful);
    assert.is(await relay.say('hello'), 'content_policy_violation');
    relay.settings.thresholds = { ...relay.settings.thresholds, violence: 0.95 };
    assert.is(await relay.say('hello'), 'passed');
  });
  check('needs the address without /v1', async () => {
    const relay = relayBefore(harmful);
    relay.settings.base_url = 'http://gateway.test/v1';
    assert.equal([await relay.say('hello'), await relay.frozenMs()], ['passed', [10_000]]);
  });
  check('needs 30000 ms for a slow judge', async () => {
    const slow = () => {
      const relay = relayBefore(async (sent) => {
        await new Promise<void>((resolve) => relay.clock.after(8000, resolve));
        return harmful(sent);
      });
      return relay;
    };
    const patient = slow();
    const said = patient.say('hello');
    await patient.clock.advance(8000);
    assert.is(await said, 'content_policy_violation');
    const hasty = slow();
    hasty.settings.timeout_ms = 3000;
    const passed = hasty.say('hello');
    await hasty.clock.advance(9300);
    assert.is(await passed, 'passed');
  });
  check('is frozen for a minute by a rate limit, for all users', async () => {
    const relay = relayBefore(harmful, { RATE_LIMIT_RPM: '1' });
    assert.is(await relay.say('hello'), 'content_policy_violation');
    assert.is(await relay.say('hello', CAROL), 'passed');
    assert.equal(await relay.frozenMs(), [60_000]);
  });
});
