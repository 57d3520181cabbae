import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { type Announced, announced } from './world.ts';

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
