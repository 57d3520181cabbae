import * as assert from 'uvu/assert';
import { describe } from '../check.ts';
import { createConsoleWorld, SECRET } from './harness/world.ts';

const HOOK = { CONSOLE_NOTIFY_URL: 'https://hook.example/in', CONSOLE_PUBLIC_URL: 'https://console.example' };

type Given = Readonly<Record<string, unknown>>;
type WorldNeeds = NonNullable<Parameters<typeof createConsoleWorld>[0]>;

/** A console that has announced a request; `path` is that of its link. */
const announced = async (given: Given = { user_id: 7 }, needs: WorldNeeds = {}, more: Given = {}) => {
  const world = await createConsoleWorld({ ...needs, variables: { ...HOOK, ...needs.variables } });
  world.agents[0].ask('per_1', given, more);
  await world.clock.advance(5000);
  const messages = () =>
    world.services.sent.filter(({ headers, method }) => method === 'POST' && !('authorization' in headers));
  const { link = '' } = (messages()[0]?.body ?? {}) as { link?: string };
  return { ...world, messages, link, path: link.replace('https://console.example', '') };
};
type Announced = Awaited<ReturnType<typeof announced>>;

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

describe('the webhook', (check) => {
  const GIVEN = {
    user_id: 7,
    preview_token: 'rp1.canary-token',
    password: 'canary-password',
    note: 'Bearer canary0123456789',
  };

  check('is told of a request once, with its link and without a secret of its arguments', async () => {
    const world = await announced(GIVEN);
    const [message] = world.messages();
    const text = JSON.stringify(message);
    assert.not.match(text, 'canary');
    const { event, id, tool } = (message?.body ?? {}) as Record<string, unknown>;
    assert.equal({ event, id, tool }, { event: 'approval', id: 'per_1', tool: 'relay-admin_recharge' });
    assert.match(text, 'user_id: 7');
    await world.clock.advance(60_000);
    assert.is(world.messages().length, 1);
    const { headers } = await world.login('vera');
    const shown = await (await world.send('GET', '/api/approvals', { headers })).json();
    assert.equal((shown as { open: { link?: unknown }[] }).open[0]?.link, { announced: true });
    world.stop();
  });

  check('is told whom a recharge is for, and what its preview warns of, in every form', async () => {
    const preview = {
      summary: 'Add 7 to the balance of user 3: 0.3 becomes 7.3.',
      user: { email: 'ann@example.com', username: 'ann' },
      warnings: [{ code: 'inactive', text: 'The user is not active.' }],
    };
    for (const format of ['json', 'ntfy', 'slack']) {
      const variables = { CONSOLE_NOTIFY_FORMAT: format };
      const world = await announced({ user_id: 3 }, { variables }, { metadata: { preview, figures: { amount: '7' } } });
      const text = JSON.stringify(world.messages()[0]?.body);
      for (const expected of ['0.3 becomes 7.3', 'ann@example.com', 'The user is not active'])
        assert.ok(text.includes(expected), `${format}: ${expected}`);
      world.stop();
    }
  });

  check('and its page name the conversation of a task, in the words of its user', async () => {
    const more = { title: 'Recharge a user (@maintainer subagent)', parent: { id: 'ses_0', title: 'Give Ann 7 more' } };
    const world = await announced({ user_id: 3 }, {}, more);
    const { text } = (world.messages()[0]?.body ?? {}) as { text?: string };
    assert.match(text ?? '', 'In: Give Ann 7 more, task: Recharge a user (@maintainer subagent)');
    const html = await (await world.send('GET', world.path)).text();
    assert.match(html, '<dt>Conversation</dt><dd>Give Ann 7 more</dd>');
    assert.not.match(html, '<dd>*</dd>');
    world.stop();
  });

  check('is told of no secret in the title of the conversation either', async () => {
    const world = await announced({ user_id: 7 }, {}, { title: 'use sk-canary0123456789abcdef for it' });
    assert.not.match(JSON.stringify(world.messages()), 'canary');
    assert.match(JSON.stringify(world.messages()), 'for it');
    world.stop();
  });

  check('is told again of a request whose agent server was away while it could not be told', async () => {
    let isDown = true;
    const world = await announced({ user_id: 7 }, { hook: () => ({ status: isDown ? 500 : 200, value: {} }) });
    // The third attempt has failed; before the fourth the agent server is away and back.
    await world.clock.advance(10_000);
    world.services.away.add('http://agent-1');
    await world.clock.advance(22_000);
    isDown = false;
    const before = world.messages().length;
    world.services.away.delete('http://agent-1');
    await world.clock.advance(20_000);
    assert.is(world.messages().length, before + 1);
    world.stop();
  });

  check('gets a text that stays short, whatever the arguments are', async () => {
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, each) => [`name${each}`, 'y'.repeat(10_000)]));
    const world = await announced(many);
    assert.ok(JSON.stringify(world.messages()[0]?.body).length < 2000);
    world.stop();
  });

  check('is spoken to in the form of Slack, where nothing in a text is a link or a mention', async () => {
    const world = await announced(
      { note: '<!channel> <https://evil.example|ok>' },
      { variables: { CONSOLE_NOTIFY_FORMAT: 'slack' } },
    );
    const { text = '' } = (world.messages()[0]?.body ?? {}) as { text?: string };
    assert.match(text, '&lt;!channel&gt;');
    assert.match(text, /\n<https:\/\/console\.example\/a\/per_1\.[\w-]{22}\|Decide>$/);
    world.stop();
  });

  check('is spoken to in the form of ntfy, with the topic of its address', async () => {
    const variables = { CONSOLE_NOTIFY_FORMAT: 'ntfy', CONSOLE_NOTIFY_URL: 'https://hook.example/my-topic' };
    const world = await announced({ user_id: 7 }, { variables });
    const { path, body } = world.messages()[0] ?? { path: '', body: {} };
    const { topic, click } = body as Record<string, unknown>;
    assert.equal([path, topic], ['/', 'my-topic']);
    assert.match(String(click), '/a/per_1.');
    world.stop();
  });

  check('is asked again after failures of its own, not after a refusal, and not about what is over', async () => {
    const run = async (statuses: readonly number[], between?: (world: Announced) => void) => {
      let each = 0;
      const hook = () => ({ status: statuses[each++] ?? 200, value: {} });
      const world = await announced({ user_id: 7 }, { hook });
      between?.(world);
      await world.clock.advance(60_000);
      world.stop();
      return [world.messages().length, world.counted.filter((line) => line.startsWith('notification'))];
    };
    assert.equal(await run([500, 503, 429, 200]), [4, ['notification sent']]);
    assert.equal(await run([500, 500, 500, 500]), [4, ['notification failed']]);
    assert.equal(await run([403]), [1, ['notification failed']]);
    assert.equal(await run([500, 500, 500], ({ agents }) => agents[0].open.clear()), [2, ['notification ended']]);
  });

  check(
    'that is down for long is asked on while the request is open, with its newest state, and then once',
    async () => {
      let isDown = true;
      const ends = 36_000_000;
      const hook = () => ({ status: isDown ? 502 : 200, value: {} });
      const world = await announced({ user_id: 7 }, { hook }, { time: { asked: 0, ends } });
      await world.clock.advance(3_600_000);
      const before = world.messages().length;
      // Each five minutes after the first attempts.
      assert.ok(before > 12 && before < 20, `${before} attempts in an hour`);
      world.agents[0].ask('per_1', { user_id: 8 }, { time: { asked: 0, ends } });
      isDown = false;
      await world.clock.advance(3_600_000);
      assert.is(world.messages().length, before + 1);
      assert.match(JSON.stringify(world.messages().at(-1)?.body), 'user_id: 8');
      assert.equal(
        world.lines.map((line) => JSON.parse(line)).filter(({ event }) => String(event).startsWith('notification')),
        [
          { level: 'warn', event: 'notification-refused', status: 502 },
          { level: 'info', event: 'notification-sent-again' },
        ],
      );
      assert.equal(
        world.counted.filter((line) => line.startsWith('notification')),
        ['notification failed', 'notification sent'],
      );
      world.stop();
    },
  );
});
