import * as assert from 'uvu/assert';
import * as v from 'valibot';
import { AdminState, KeyChangeAnswer } from '../../../src/gateway/admin/openapi.ts';
import { describe } from '../../check.ts';
import {
  GATEWAY_KEY,
  gatewayOver,
  judging,
  keyOf,
  nonceOf,
  received,
  replying,
  verdictJson,
} from '../harness/world.ts';
import { ADMIN_KEY, adminOver } from './world.ts';

const PATHS = [
  ['state', undefined],
  ['keys/abcdef01/rest', { seconds: 5 }],
  ['keys/abcdef01/release', {}],
  ['check', { input: 'good morning' }],
  ['events', undefined],
] as const;
const READY = received(
  200,
  JSON.stringify({ models: ['gpt-oss:20b', 'gpt-oss:120b', 'gemma4:31b'].map((name) => ({ name })) }),
);
const judged = judging({ HR: 90 });
/** A judge whose server also lists its models. */
const served: Parameters<typeof adminOver>[0] = (sent) => (sent.method === 'GET' ? READY : judged(sent));

const readState = async (admin: ReturnType<typeof adminOver>['admin']) =>
  v.parse(AdminState, await (await admin('state')).json());

describe('the admin routes', (check) => {
  check('do not exist without an admin key: each answers as any unknown path', async () => {
    const { visit } = gatewayOver(judged);
    const unknown = await (await visit('/no/such/path')).text();
    for (const [path, body] of PATHS) {
      const response = await visit(`/admin/${path}`, body === undefined ? 'GET' : 'POST');
      assert.equal([response.status, await response.text()], [404, unknown], path);
    }
    assert.not.match(await (await visit('/openapi.json')).text(), '/admin/');
  });

  check('take the admin key alone, which is no gateway key', async () => {
    const { admin, ask } = adminOver(served);
    for (const [path, body] of PATHS)
      for (const authorization of ['', `Bearer ${GATEWAY_KEY}`, 'Bearer backend-key-1', `Bearer ${ADMIN_KEY}x`])
        assert.is((await admin(path, body, { authorization })).status, 401, `${path} ${authorization}`);
    assert.is((await ask({ input: 'good morning' }, { authorization: `Bearer ${ADMIN_KEY}` })).status, 401);
  });

  check('are in openapi.json with every answer, where they exist', async () => {
    const { visit } = adminOver(served);
    const { paths, components } = (await (await visit('/openapi.json')).json()) as {
      paths: Record<string, object>;
      components: { schemas: Record<string, object> };
    };
    const described = Object.keys(paths).filter((path) => path.startsWith('/admin/'));
    assert.is(described.length, PATHS.length);
    for (const path of described)
      assert.is((await visit(path.replace('{fingerprint}', 'abcdef01'), 'PURGE')).status, 405, path);
    for (const [, ref = ''] of JSON.stringify(paths).matchAll(/schemas\/(\w+)/g))
      assert.ok(components.schemas[ref], ref);
  });
});

describe('the state', (check) => {
  check('reports keys, breaker, calls, cache, tokens, aliases, policies and readiness', async () => {
    const { admin, ask } = adminOver(served);
    await ask({ input: 'one text' });
    await ask({ input: 'one text' });
    await ask({ input: 'another text' });
    const state = await readState(admin);
    assert.equal(
      state.keys.map(({ state: one, strikes }) => [one, strikes]),
      [
        ['active', 0],
        ['active', 0],
        ['active', 0],
      ],
    );
    assert.equal(state.breaker, { state: 'closed', rests_ms: 0 });
    assert.equal(state.calls, { running: 0, waiting: 0, limit: 64 });
    assert.equal(state.cache, { verdicts: 2, limit: 10_000 });
    const [tokens] = state.tokens;
    assert.is(state.tokens.length, 1);
    assert.equal([tokens?.model, tokens?.completion], ['gpt-oss:20b', 140]);
    assert.ok((tokens?.prompt ?? 0) > 1000);
    assert.equal(state.ready.reasons, []);
    const fast = state.aliases.find(({ alias }) => alias === 'moderation-fast');
    assert.equal([fast?.model, fast?.vision, fast?.policy], ['gpt-oss:20b', false, state.policies[0]?.version]);
    assert.is(state.policies[0]?.categories.length, 13);
  });

  check('shows what the shadow has found, where there is one', async () => {
    const scored: Parameters<typeof adminOver>[0] = (sent) => {
      if (sent.method === 'GET') return READY;
      return judging((sent.body ?? '').includes('gpt-oss:120b') ? { HA: 90 } : { HR: 90 })(sent);
    };
    const MODERATION_SHADOW = '{"alias":"moderation-accurate","share":1}';
    const { admin, ask, clock } = adminOver(scored, { variables: { MODERATION_SHADOW } });
    await ask({ input: ['one', 'two'] });
    await clock.advance(0);
    assert.equal((await readState(admin)).shadow, {
      share: 1,
      alias: 'moderation-accurate',
      running: 0,
      texts: { agreed: 0, differed: 1, failed: 0, skipped: 1 },
      categories: [
        { category: 'harassment', both: 0, live: 1, shadow: 0 },
        { category: 'hate', both: 0, live: 0, shadow: 1 },
      ],
    });
    assert.is((await readState(adminOver(served).admin)).shadow, undefined);
  });

  check('counts unusable answers by model and reason', async () => {
    const { admin, ask } = adminOver((sent) => (sent.method === 'GET' ? READY : replying(sent, 'I cannot help')));
    await ask({ input: 'one text' });
    const { unusable } = await readState(admin);
    assert.equal(
      unusable.map(({ model, count }) => [model, count]),
      [['gpt-oss:20b', 2]],
    );
    assert.ok((unusable[0]?.reason ?? '').length > 3);
  });

  check('has a key that may not use one model, with that model', async () => {
    const { admin, ask } = adminOver((sent) => {
      if (sent.method === 'GET') return READY;
      return keyOf(sent) === 'backend-key-1'
        ? received(403, '{"error":"this model requires a subscription"}')
        : replying(sent, verdictJson(nonceOf(sent)));
    });
    await ask({ input: 'one text' });
    const [key] = (await readState(admin)).keys;
    assert.is(key?.state, 'active');
    assert.equal(
      key?.models?.map(({ model, state, reason }) => [model, state, reason]),
      [['gpt-oss:20b', 'cooling', 'auth']],
    );
  });
});

describe('a key that an operator rests', (check) => {
  const restedWorld = async () => {
    const world = adminOver(served);
    const [first, ...others] = (await readState(world.admin)).keys.map(({ fingerprint }) => fingerprint);
    return { ...world, first: first ?? '', others };
  };

  check('gets no call until its time is over, and the log says by whom', async () => {
    const { admin, ask, clock, calls, logged, first } = await restedWorld();
    const answer = v.parse(KeyChangeAnswer, await (await admin(`keys/${first}/rest`, { seconds: 60 })).json());
    assert.equal(answer, {
      fingerprint: first,
      state: 'cooling',
      reason: 'manual',
      rests_ms: 60_000,
      strikes: 0,
      applies_to: 'process',
    });
    assert.ok(logged.some((line) => line.includes('"backend-key"') && line.includes('"reason":"manual"')));
    for (let turn = 0; turn < 6; turn++) await ask({ input: `text ${turn}` });
    assert.not.ok(calls.map(keyOf).includes('backend-key-1'));
    await clock.advance(60_000);
    for (let turn = 6; turn < 9; turn++) await ask({ input: `text ${turn}` });
    assert.ok(calls.map(keyOf).includes('backend-key-1'));
    assert.is((await readState(admin)).keys[0]?.state, 'active');
  });

  check('is back at once when it is released', async () => {
    const { admin, ask, calls, first, others } = await restedWorld();
    for (const key of [first, ...others]) await admin(`keys/${key}/rest`, { seconds: 86_400 });
    assert.is((await ask({ input: 'a text' })).status, 503);
    const answer = v.parse(KeyChangeAnswer, await (await admin(`keys/${first}/release`, {})).json());
    assert.equal([answer.state, answer.rests_ms], ['active', 0]);
    assert.is((await ask({ input: 'a text' })).status, 200);
    assert.equal(calls.map(keyOf), ['backend-key-1']);
  });

  check('is known by its fingerprint, and rests from a second to a day', async () => {
    const { admin, first } = await restedWorld();
    for (const path of ['keys/abcdef01/rest', 'keys/backend-key-1/rest', 'keys/%22/rest']) {
      const response = await admin(path, { seconds: 5 });
      assert.is(response.status, 404, path);
      assert.not.match(await response.text(), 'backend-key-1');
    }
    assert.is((await admin('keys/abcdef01/release', {})).status, 404);
    for (const seconds of [0, 86_401, 1.5, '60', null, undefined])
      assert.is((await admin(`keys/${first}/rest`, { seconds })).status, 400, String(seconds));
    assert.is((await admin(`keys/${first}/rest`, [5])).status, 400);
  });
});
