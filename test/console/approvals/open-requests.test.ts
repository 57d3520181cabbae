import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createConsoleWorld } from '../harness/world.ts';
import { withRequest } from './world.ts';

const PREVIEW = {
  summary: 'Add 12.5 to the balance of user 7: 3.5 becomes 16. Valid until 2026-01-01T00:05:00.000Z.',
  user: { email: 'ann@example.com', username: 'ann' },
  warnings: [{ code: 'large_amount', text: 'The amount is large.' }],
};
const FIGURES = { amount: '12.5', balance_now: '3.5', balance_after: '16', expires_at: '2026-01-01T00:05:00.000Z' };

describe('the open requests of all agent servers', (check) => {
  check(
    'are shown with every argument, the conversation, the time that is left and what always would allow',
    async () => {
      const world = await withRequest();
      const [one] = (await world.shown()).open;
      assert.equal(one, {
        agent: 0,
        id: 'per_1',
        sessionID: 'ses_1',
        title: 'Credit for Ann',
        tool: 'relay-admin_recharge',
        permission: 'relay-admin_recharge',
        patterns: ['*'],
        arguments: { user_id: 7, amount: '12.5' },
        argumentsHash: world.agents[0].hashOf({ user_id: 7, amount: '12.5' }),
        asked: world.clock.now() - 5000,
        ends: world.clock.now() + 295_000,
        always: [
          'Every call of relay-admin_recharge, with any arguments, by any agent, in this session, for 60 minutes',
        ],
      });
      world.stop();
    },
  );

  check('show the money from the preview that the agent server has found, and say where it is from', async () => {
    const metadata = { tool: 'relay-admin_recharge', input: { summary: 'Add 1' }, preview: PREVIEW, figures: FIGURES };
    const world = await withRequest({ metadata });
    const { money } = (await world.shown()).open[0] as { money?: Record<string, unknown> };
    assert.equal(
      { ...money, source: undefined },
      {
        summary: PREVIEW.summary,
        warnings: ['The amount is large.'],
        isKnown: true,
        user: 'ann <ann@example.com>',
        amount: '12.5',
        before: '3.5',
        after: '16',
        expires: Date.UTC(2026, 0, 1, 0, 5),
        source: undefined,
      },
    );
    assert.match(String(money?.source), 'no words of the model');
    world.stop();
  });

  check('show no figures where the agent server knows no preview, whatever the arguments claim', async () => {
    const input = { preview_token: 'rp1.7.1', preview: PREVIEW, amount: '1', balance_after: '99' };
    const metadata = { input, preview: { summary: 'No preview of this token is known', warnings: [] } };
    const world = await withRequest({ metadata });
    const { money } = (await world.shown()).open[0] as { money?: Record<string, unknown> };
    assert.equal(Object.keys(money ?? {}).sort(), ['isKnown', 'source', 'summary', 'warnings']);
    assert.is(money?.isKnown, false);
    const plain = await withRequest({ metadata: { input } });
    assert.is((await plain.shown()).open[0]!.money, undefined);
    for (const one of [world, plain]) one.stop();
  });

  check('for one user at a time say of each other: only the first that is allowed is credited', async () => {
    const metadata = { preview: PREVIEW, figures: FIGURES };
    const world = await withRequest({ metadata });
    const warnings = async () =>
      (await world.shown()).open.map(({ money }) => (money as { warnings: string[] }).warnings.length);
    assert.equal(await warnings(), [1]);
    world.agents[1].ask('per_2', { user_id: 7, amount: '4' }, { metadata });
    world.agents[1].ask('per_3', {}, { metadata: { preview: { ...PREVIEW, user: { username: 'bob' } } } });
    await world.clock.advance(5000);
    assert.equal(await warnings(), [2, 2, 1]);
    world.stop();
  });

  check('are each shown once, by whichever of the servers of a store answers', async () => {
    const world = await withRequest();
    world.agents[1].ask('per_1', { user_id: 7, amount: '12.5' });
    world.agents[1].ask('per_2', { user_id: 8 });
    await world.clock.advance(5000);
    const open = async () => (await world.shown()).open.map(({ id, agent }) => `${id} of ${agent}`);
    assert.equal(await open(), ['per_1 of 0', 'per_2 of 1']);
    world.services.away.add('http://agent-1');
    await world.clock.advance(5000);
    assert.equal(await open(), ['per_1 of 1', 'per_2 of 1']);
    world.services.away.delete('http://agent-1');
    await world.clock.advance(5000);
    assert.equal(await open(), ['per_1 of 0', 'per_2 of 1']);
    world.stop();
  });

  check('are read again as soon as an event of a permission comes, and for no other event', async () => {
    const world = await createConsoleWorld();
    const [events] = world.services.streams.filter(({ url }) => url === '/global/event');
    events?.send('data: {"payload":{"type":"server.connected"}}\n\n');
    await world.clock.advance(0);
    const asked = () => world.services.sent.filter(({ path }) => path === '/permission').length;
    const before = asked();
    events?.send('data: {"payload":{"type":"message.part.delta"}}\n\n');
    await world.clock.advance(0);
    assert.is(asked(), before);
    world.agents[0].ask('per_1');
    events?.send('data: {"payload":{"type":"permission.asked"}}\n\n');
    await world.clock.advance(0);
    assert.is(asked(), before + 1);
    assert.is(world.readings()?.openApprovals, 1);
    world.stop();
  });

  check('say which servers were not read, and whose decisions are not known', async () => {
    const world = await createConsoleWorld();
    const vera = await world.as('vera');
    const read = async () => (await (await vera('GET', '/api/approvals')).json()) as Record<string, unknown>;
    assert.equal(await read(), { open: [], away: [], standing: [], decided: [], unread: [] });
    world.services.away.add('http://agent-2');
    // The console has not seen yet that it is away.
    assert.equal((await read()).unread, [1]);
    await world.clock.advance(5000);
    assert.equal(await read(), { open: [], away: [1], standing: [], decided: [], unread: [1] });
    world.services.away.add('http://agent-1');
    await world.clock.advance(5000);
    assert.equal(await read(), { open: [], away: [0, 1], standing: [], decided: [], unread: [0, 1] });
    world.stop();
  });

  check('of a server that was never reached are a line of the log, once for each reason', async () => {
    const world = await createConsoleWorld({ variables: { CONSOLE_AGENT_URLS: 'http://nobody' } });
    await world.clock.advance(20_000);
    const lost = () => world.lines.map((line) => JSON.parse(line)).filter(({ event }) => event === 'agent-lost');
    assert.equal(lost(), [{ level: 'warn', event: 'agent-lost', address: 'http://nobody', reason: 'ECONNREFUSED' }]);
    world.stop();
  });

  check('of a server that sends nonsense or too much are left out, and the others stay', async () => {
    const world = await withRequest();
    world.agents[1].open.set('odd', { id: '../../session/ses_1', sessionID: 'ses_1', permission: 'x' });
    world.agents[1].open.set('none', { permission: 7 });
    world.agents[1].ask('per_2');
    await world.clock.advance(5000);
    assert.equal(
      (await world.shown()).open.map(({ id }) => id),
      ['per_1', 'per_2'],
    );
    world.agents[1].ask('per_3', { text: 'x'.repeat(40_000_000) });
    await world.clock.advance(5000);
    assert.equal(
      (await world.shown()).open.map(({ id }) => id),
      ['per_1'],
    );
    world.stop();
  });
});
