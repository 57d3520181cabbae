import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { codeOf, createConsoleWorld } from '../harness/world.ts';
import { type Shown, withRequest } from './world.ts';

describe('a decision', (check) => {
  const hash = { user_id: 7, amount: '12.5' };

  check('goes to the agent server with the name of who made it, and is shown from then on', async () => {
    const world = await withRequest();
    const bob = await world.as('bob');
    const argumentsHash = world.agents[0].hashOf(hash);
    const answer = await bob('POST', '/api/approvals/0/per_1', {
      reply: 'reject',
      message: 'not now',
      argumentsHash,
      x: 1,
    });
    assert.is(answer.status, 200);
    const { reply, by, message } = (await answer.json()) as Record<string, unknown>;
    assert.equal({ reply, by, message }, { reply: 'reject', by: 'bob', message: 'not now' });
    const [sent] = world.services.sent.filter(({ path }) => path === '/permission/per_1/reply');
    assert.equal(sent?.body, { reply: 'reject', message: 'not now', by: 'bob', argumentsHash });
    const { open, decided } = await world.shown();
    assert.equal(open, []);
    assert.equal([decided[0]?.id, decided[0]?.by, decided[0]?.reply], ['per_1', 'bob', 'reject']);
    assert.ok(world.counted.includes('decision reject'));
    world.stop();
  });

  check('of two at once counts for one, and the other is told who was first', async () => {
    const world = await withRequest();
    const [ann, bob] = [await world.as('ann'), await world.as('bob')];
    const argumentsHash = world.agents[0].hashOf(hash);
    const answers = await Promise.all([
      bob('POST', '/api/approvals/0/per_1', { reply: 'once', argumentsHash }),
      ann('POST', '/api/approvals/0/per_1', { reply: 'reject', argumentsHash }),
    ]);
    assert.equal(
      answers.map(({ status }) => status),
      [200, 409],
    );
    const { error } = (await (answers[1] as Response).json()) as {
      error: { code: string; decided?: { by?: string; reply?: string } };
    };
    assert.equal([error.code, error.decided?.by, error.decided?.reply], ['already_decided', 'bob', 'once']);
    const late = await ann('POST', '/api/approvals/0/per_1', { reply: 'reject', argumentsHash });
    assert.is(await codeOf(late), 'already_decided');
    world.stop();
  });

  check('that someone else made elsewhere is told by the agent server', async () => {
    const world = await withRequest();
    world.agents[0].reply('per_1', { reply: 'once', by: 'opencode' });
    const ann = await world.as('ann');
    const answer = await ann('POST', '/api/approvals/0/per_1', {
      reply: 'once',
      argumentsHash: world.agents[0].hashOf(hash),
    });
    const { error } = (await answer.json()) as { error: { code: string; decided?: { by?: string } } };
    assert.equal([answer.status, error.code, error.decided?.by], [409, 'already_decided', 'opencode']);
    world.stop();
  });

  check('has no name where the agent server was given none', async () => {
    const world = await withRequest();
    world.agents[0].reply('per_1', { reply: 'once', by: 'unknown' });
    const { decided } = await world.shown();
    assert.equal([decided[0]?.id, decided[0]?.reply, decided[0]?.by], ['per_1', 'once', undefined]);
    world.stop();
  });

  check('that allows a call is followed by what became of the call, as its session says', async () => {
    const world = await withRequest({ tool: { messageID: 'msg_1', callID: 'call_1' } });
    const [ann, vera] = [await world.as('ann'), await world.as('vera')];
    const outcome = async () => (await (await vera('GET', '/api/approvals/0/per_1/outcome')).json()) as unknown;
    assert.equal(await outcome(), { state: 'unknown' });
    await ann('POST', '/api/approvals/0/per_1', { reply: 'once', argumentsHash: world.agents[0].hashOf(hash) });
    const verified = { outcome: 'verified', balance_before: '3.5', balance_after: '16' };
    for (const [state, expected] of [
      [{ status: 'running' }, { state: 'pending' }],
      [{ status: 'completed', output: 'done' }, { state: 'done' }],
      [
        { status: 'completed', output: JSON.stringify(verified) },
        { state: 'done', text: 'credited, balance 3.5 → 16' },
      ],
      [
        { status: 'completed', output: '{"outcome":"accepted_unverified","advice":"Look first."}' },
        { state: 'in-doubt', text: 'Look first.' },
      ],
      [
        { status: 'error', error: 'PREVIEW_STALE: the balance moved' },
        { state: 'failed', text: 'PREVIEW_STALE: the balance moved' },
      ],
      [undefined, { state: 'unknown' }],
    ] as const) {
      const others = { type: 'tool', callID: 'call_0', state: { status: 'completed', output: '' } };
      world.agents[0].others['/session/ses_1/message/msg_1'] = {
        parts: [others, { type: 'tool', callID: 'call_1', state }],
      };
      assert.equal(await outcome(), expected);
    }
    world.services.away.add('http://agent-1');
    assert.is((await vera('GET', '/api/approvals/0/per_1/outcome')).status, 502);
    world.stop();
  });

  for (const first of ['ann', 'bob'] as const)
    check(`of two at once is followed by what became of the call (${first} decides first)`, async () => {
      const world = await withRequest({ tool: { messageID: 'msg_1', callID: 'call_1' } });
      const people = { ann: await world.as('ann'), bob: await world.as('bob') };
      const names = first === 'ann' ? (['ann', 'bob'] as const) : (['bob', 'ann'] as const);
      const argumentsHash = world.agents[0].hashOf(hash);
      await Promise.all(
        names.map((name) => people[name]('POST', '/api/approvals/0/per_1', { reply: 'once', argumentsHash })),
      );
      const state = { status: 'completed', output: 'done' };
      world.agents[0].others['/session/ses_1/message/msg_1'] = { parts: [{ type: 'tool', callID: 'call_1', state }] };
      const answer = await people.ann('GET', '/api/approvals/0/per_1/outcome');
      assert.equal(await answer.json(), { state: 'done' });
      world.stop();
    });

  check('about other arguments than were shown is none, here and at the agent server', async () => {
    const world = await withRequest();
    const ann = await world.as('ann');
    const wrong = await ann('POST', '/api/approvals/0/per_1', { reply: 'once', argumentsHash: 'a'.repeat(64) });
    assert.equal([wrong.status, await codeOf(wrong)], [409, 'arguments_changed']);
    const shown = world.agents[0].hashOf(hash);
    // They change between two looks of the console.
    world.agents[0].ask('per_1', { user_id: 8, amount: '1000' });
    const stale = await ann('POST', '/api/approvals/0/per_1', { reply: 'once', argumentsHash: shown });
    assert.equal([stale.status, await codeOf(stale)], [409, 'arguments_changed']);
    assert.is(world.agents[0].open.size, 1);
    world.stop();
  });

  check('about a request that is over, or was never there, says so', async () => {
    const world = await withRequest();
    const ann = await world.as('ann');
    world.agents[0].open.clear();
    world.agents[0].decisions.push({
      id: 'per_1',
      sessionID: 'ses_1',
      permission: 'x',
      patterns: [],
      reply: 'expired',
      at: 5,
    });
    const over = await ann('POST', '/api/approvals/0/per_1', {
      reply: 'once',
      argumentsHash: world.agents[0].hashOf(hash),
    });
    assert.equal([over.status, await codeOf(over)], [409, 'ended']);
    const none = await ann('POST', '/api/approvals/0/per_9', { reply: 'once', argumentsHash: 'x' });
    assert.equal([none.status, await codeOf(none)], [409, 'ended']);
    world.stop();
  });

  check('is not lost when the agent server goes away in between: its request stays open', async () => {
    const world = await withRequest();
    const ann = await world.as('ann');
    const body = { reply: 'once', argumentsHash: world.agents[0].hashOf(hash) };
    world.services.away.add('http://agent-1');
    const away = await ann('POST', '/api/approvals/0/per_1', body);
    assert.equal([away.status, await codeOf(away)], [502, 'service_down']);
    // Also once the console has seen that it is away: that is no end of the request.
    await world.clock.advance(5000);
    const later = await ann('POST', '/api/approvals/0/per_1', body);
    assert.equal([later.status, await codeOf(later)], [502, 'service_down']);
    const shown = (await (await ann('GET', '/api/approvals')).json()) as { open: unknown[]; away: number[] };
    assert.equal([shown.open, shown.away], [[], [0]]);
    world.services.away.delete('http://agent-1');
    await world.clock.advance(5000);
    assert.is((await ann('POST', '/api/approvals/0/per_1', body)).status, 200);
    world.stop();
  });

  check('is listed at once while another agent server hangs', async () => {
    const world = await withRequest();
    world.services.hanging.add('http://agent-2');
    await world.clock.advance(16_000);
    const ann = await world.as('ann');
    const { open, away } = (await (await ann('GET', '/api/approvals')).json()) as { open: unknown[]; away: number[] };
    assert.equal([open.length, away], [1, [1]]);
    world.stop();
  });

  check('allows nothing that cannot be shown', async () => {
    let deep: unknown = 1;
    for (let level = 0; level < 1000; level++) deep = [deep];
    const world = await createConsoleWorld();
    const argumentsHash = 'a'.repeat(64);
    world.agents[0].open.set('per_1', {
      id: 'per_1',
      sessionID: 'ses_1',
      permission: 'x',
      arguments: deep,
      argumentsHash,
    });
    world.agents[0].ask('per_2');
    await world.clock.advance(5000);
    const ann = await world.as('ann');
    const { open } = (await (await ann('GET', '/api/approvals')).json()) as Shown;
    const one = open.find(({ id }) => id === 'per_1');
    assert.equal([open.length, one?.argumentsHash], [2, 'not shown']);
    assert.match(String(one?.arguments), 'can only be rejected');
    const allowed = await ann('POST', '/api/approvals/0/per_1', { reply: 'once', argumentsHash: 'not shown' });
    assert.is(allowed.status, 403);
    assert.is(
      (await ann('POST', '/api/approvals/0/per_1', { reply: 'reject', argumentsHash: 'not shown' })).status,
      200,
    );
    world.stop();
  });
});
