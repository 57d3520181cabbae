import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { SECRET } from '../harness/world.ts';
import { type Announced, announced } from './world.ts';

const press = ({ send, path }: Announced, decision: string, reason = ''): Promise<Response> =>
  send('POST', path, { form: { decision, ...(reason === '' ? {} : { reason }) }, headers: { origin: 'null' } });

describe('a one-time link', (check) => {
  check(
    'is short, and shows the request with its arguments to someone without an account, without a script',
    async () => {
      const world = await announced({ user_id: 7, note: '<script>alert(1)</script>\u202e"\u0000' });
      assert.match(world.link, /^https:\/\/console\.example\/a\/per_1\.[\w-]{22}$/);
      const answer = await world.send('GET', world.path);
      const html = await answer.text();
      assert.is(answer.status, 200);
      for (const text of [
        'relay-admin_recharge',
        'Credit for Ann',
        '&quot;user_id&quot;: 7',
        '&lt;script&gt;',
        '\\u{202e}',
      ])
        assert.ok(html.includes(text), text);
      assert.not.match(html, /<script|\u202e|src=|href=|javascript:/);
      assert.match(html, 'name="viewport" content="width=device-width');
      const policy = answer.headers.get('content-security-policy') ?? '';
      assert.match(policy, "default-src 'none'; style-src 'sha256-");
      assert.match(policy, "frame-ancestors 'none'");
      assert.not.match(policy, /script-src|unsafe/);
      const names = ['referrer-policy', 'cache-control', 'x-robots-tag', 'x-content-type-options'];
      assert.equal(
        names.map((name) => answer.headers.get(name)),
        ['no-referrer', 'no-store', 'noindex, nofollow', 'nosniff'],
      );
      world.stop();
    },
  );

  check('decides nothing when it is opened, by whatever method but POST', async () => {
    const world = await announced();
    for (const method of ['GET', 'HEAD', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])
      await world.send(method, `${world.path}?decision=once`);
    assert.equal(world.agents[0].decisions, []);
    assert.is(world.agents[0].open.size, 1);
    world.stop();
  });

  check('allows once or rejects with a reason, and nothing else', async () => {
    for (const [decision, reason, expected] of [
      ['once', '', { reply: 'once', by: 'approval link' }],
      ['reject', 'not today', { reply: 'reject', message: 'not today', by: 'approval link' }],
    ] as const) {
      const world = await announced();
      for (const other of ['always', 'allow', '', 'ONCE']) assert.is((await press(world, other)).status, 400, other);
      const answer = await press(world, decision, reason);
      assert.is(answer.status, 200);
      const [{ at: _, ...decided } = {}] = world.agents[0].decisions as Record<string, unknown>[];
      for (const [name, value] of Object.entries(expected)) assert.is(decided[name], value);
      world.stop();
    }
  });

  check('is used once: the second press is told what was decided', async () => {
    const world = await announced();
    const answers = await Promise.all([press(world, 'once'), press(world, 'reject')]);
    assert.equal(
      answers.map(({ status }) => status),
      [200, 410],
    );
    assert.match(await (answers[1]?.text() ?? ''), 'allowed once by approval link');
    const again = await press(world, 'reject');
    assert.is(again.status, 410);
    assert.is((await world.send('GET', world.path)).status, 410);
    assert.is(world.agents[0].decisions.length, 1);
    world.stop();
  });

  check('ends with its request, by time or by another decision', async () => {
    const world = await announced();
    world.agents[0].open.clear();
    await world.clock.advance(5000);
    for (const answer of [await world.send('GET', world.path), await press(world, 'once')])
      assert.is(answer.status, 410);
    assert.equal(world.agents[0].decisions, []);
    world.stop();
    const other = await announced();
    const ann = await other.as('ann');
    await ann('POST', '/api/approvals/0/per_1', {
      reply: 'reject',
      argumentsHash: other.agents[0].hashOf({ user_id: 7 }),
    });
    assert.match(await (await press(other, 'once')).text(), 'rejected by ann');
    other.stop();
  });

  check('fits these arguments alone: with others it leads nowhere', async () => {
    const world = await announced();
    world.agents[0].ask('per_1', { user_id: 8 });
    await world.clock.advance(5000);
    assert.is((await world.send('GET', world.path)).status, 404);
    assert.is((await press(world, 'once')).status, 404);
    // Not even when they change between the console's last look and the press.
    const quick = await announced();
    quick.agents[0].ask('per_1', { user_id: 8 });
    assert.is((await press(quick, 'once')).status, 409);
    assert.equal([...world.agents[0].decisions, ...quick.agents[0].decisions], []);
    for (const one of [world, quick]) one.stop();
  });

  check('is not found by changing another one, or by guessing', async () => {
    const world = await announced();
    world.agents[0].ask('per_2', { user_id: 9 });
    await world.clock.advance(5000);
    const mac = world.path.split('.')[1] ?? '';
    for (const token of [
      `per_2.${mac}`,
      `per_1.${mac.slice(1)}x`,
      'per_1',
      `per_1.${mac}.x`,
      `per_1.${'A'.repeat(22)}`,
      '..%2f',
    ])
      assert.is((await world.send('POST', `/a/${token}`, { form: { decision: 'once' } })).status, 404, token);
    assert.equal(world.agents[0].decisions, []);
    world.stop();
  });

  check('reads no form without a link of ours', async () => {
    const world = await announced();
    const form = { reason: 'x'.repeat(40_000) };
    assert.is((await world.send('POST', '/a/x', { form })).status, 404);
    assert.is((await world.send('POST', world.path, { form })).status, 413);
    world.stop();
  });

  check('opens nothing else: the API still wants a login', async () => {
    const world = await announced();
    const token = world.path.slice('/a/'.length);
    for (const headers of [{ cookie: `gatehouse=${token}` }, { authorization: `Bearer ${token}` }])
      assert.is((await world.send('GET', '/api/approvals', { headers })).status, 401);
    world.stop();
  });

  check('outlives a restart with the secret, and no other', async () => {
    const first = await announced();
    first.stop();
    const same = await announced({ user_id: 7 }, { variables: { CONSOLE_SECRET: SECRET } });
    assert.is(same.path, first.path);
    const other = await announced(
      { user_id: 7 },
      { variables: { CONSOLE_SECRET: 'another-secret-of-thirty-two-characters' } },
    );
    assert.is((await other.send('GET', first.path)).status, 404);
    for (const one of [same, other]) one.stop();
  });

  check('does not allow what is too long to be shown whole', async () => {
    const world = await announced({ text: 'x'.repeat(30_000) });
    const html = await (await world.send('GET', world.path)).text();
    assert.not.match(html, 'Allow once');
    assert.match(html, 'Open the console to see all of them');
    assert.is((await press(world, 'once')).status, 400);
    assert.is((await press(world, 'reject')).status, 200);
    world.stop();
  });

  check('does not offer to allow what cannot be shown', async () => {
    const deep = Array.from({ length: 100 }).reduce<unknown>((inner) => [inner], 'x');
    const world = await announced({ deep });
    assert.not.match(await (await world.send('GET', world.path)).text(), 'Allow once<');
    const pressed = await press(world, 'once');
    assert.equal([pressed.status, pressed.headers.get('content-type')], [400, 'text/html; charset=utf-8']);
    assert.is((await press(world, 'reject')).status, 200);
    world.stop();
  });

  check('says that the request still waits where the agent server does not answer', async () => {
    const world = await announced();
    world.services.away.add('http://agent-1');
    const answer = await press(world, 'once');
    assert.is(answer.status, 502);
    assert.match(await answer.text(), 'still waits');
    world.stop();
  });
});
