import * as assert from 'uvu/assert';
import { describe } from '../../check.ts';
import { createConsoleWorld } from '../harness/world.ts';
import { withRequest } from './world.ts';

const HOUR_MS = 3_600_000;

type Listed = { readonly standing: readonly Readonly<Record<string, unknown>>[] };

/** A console whose first agent server has one standing rule. */
const withRule = async () => {
  const world = await createConsoleWorld();
  const since = world.clock.now();
  const rule = { id: 'per_1', sessionID: 'ses_1', permission: 'docs_find', patterns: ['*'], agent: 'build', by: 'bob' };
  world.agents[0].standing.push({ ...rule, since, until: since + HOUR_MS, uses: 3 });
  await world.clock.advance(5000);
  const vera = await world.as('vera');
  const standing = async () => ((await (await vera('GET', '/api/approvals')).json()) as Listed).standing;
  return { ...world, since, standing };
};

describe('standing rules', (check) => {
  check('are listed with what they cover, who made them, until when and how often they were used', async () => {
    const { standing, since, stop, clock, agents } = await withRule();
    const listed = {
      ...{ agent: 0, id: 'per_1', sessionID: 'ses_1', by: 'bob', since, until: since + HOUR_MS, uses: 3 },
      covers: ['Every call of docs_find, with any arguments, by any agent, in this session, for 60 minutes'],
    };
    assert.equal(await standing(), [listed]);
    // A server that shares the store lists the same ones.
    agents[1].standing.push(...agents[0].standing);
    await clock.advance(5000);
    assert.equal(
      (await standing()).map(({ id }) => id),
      ['per_1'],
    );
    stop();
  });

  check('are ended by approvers, at the agent server, and not by viewers', async () => {
    const { standing, stop, as, services } = await withRule();
    const revoke = '/api/standing/0/per_1';
    assert.is((await (await as('vera'))('DELETE', revoke)).status, 403);
    assert.equal(
      services.sent.filter(({ method }) => method === 'DELETE'),
      [],
    );
    assert.is((await (await as('bob'))('DELETE', revoke)).status, 204);
    assert.equal(
      services.sent.filter(({ method }) => method === 'DELETE').map((sent) => sent.path),
      ['/permission/standing/per_1'],
    );
    assert.equal(await standing(), []);
    stop();
  });

  check('that could not be ended are not said to be over', async () => {
    const { standing, stop, as } = await withRule();
    const bob = await as('bob');
    for (const path of ['/api/standing/0/per_2', '/api/standing/9/per_1', '/api/standing/0/..%2F..'])
      assert.is((await bob('DELETE', path)).status, 404, path);
    assert.is((await standing()).length, 1);
    stop();
  });

  check('are back with the first answer of a server that was away, or answered with a failure', async () => {
    const { standing, stop, services, clock, agents } = await withRule();
    services.away.add('http://agent-1');
    await clock.advance(5000);
    assert.equal(await standing(), []);
    services.away.delete('http://agent-1');
    await clock.advance(5000);
    assert.is((await standing()).length, 1);
    agents[0].failing.add('/permission/standing');
    await clock.advance(5000);
    // A rule that is not shown could not be revoked.
    assert.is((await standing()).length, 1);
    agents[0].failing.clear();
    agents[0].standing.length = 0;
    await clock.advance(5000);
    assert.equal(await standing(), []);
    stop();
  });

  check('are asked for at once after an answer of always and after a rule was ended', async () => {
    const world = await withRequest({ permission: 'docs_find', alwaysMs: HOUR_MS });
    const { agents, services, clock } = world;
    const asked = () => services.sent.filter(({ path }) => path === '/permission/standing').length;
    await clock.advance(5000);
    const before = asked();
    const [one] = (await world.shown()).open;
    const bob = await world.as('bob');
    const { argumentsHash } = one ?? {};
    await bob('POST', '/api/approvals/0/per_1', { reply: 'always', argumentsHash });
    assert.is(asked(), before + 1);
    agents[0].standing.push({ id: 'per_1' });
    assert.is((await bob('DELETE', '/api/standing/0/per_1')).status, 204);
    assert.is(asked(), before + 2);
    world.stop();
  });
});

describe('an answer of always', (check) => {
  check('says that it holds in this session, and for how long, before it is given', async () => {
    const world = await withRequest({ permission: 'docs_find', alwaysMs: HOUR_MS });
    const [one] = (await world.shown()).open;
    assert.equal(one?.always, [
      'Every call of docs_find, with any arguments, by any agent, in this session, for 60 minutes',
    ]);
    world.stop();
  });

  check('is not offered for a recharge, nor where the agent server refuses it, and not sent either', async () => {
    const preview = { summary: 'Add 5', warnings: [] };
    for (const more of [
      { always: [], alwaysRefused: 'destructive' },
      // As an agent server of the release before asks.
      { metadata: { tool: 'relay-admin_recharge', input: {}, preview } },
    ]) {
      const world = await withRequest(more);
      const [one] = (await world.shown()).open;
      assert.equal(one?.always, []);
      const { argumentsHash } = one ?? {};
      const bob = await world.as('bob');
      const answer = await bob('POST', '/api/approvals/0/per_1', { reply: 'always', argumentsHash });
      assert.is(answer.status, 403);
      assert.match(await answer.text(), 'needs a decision of its own: allow it once');
      assert.equal(world.agents[0].decisions, []);
      assert.is((await bob('POST', '/api/approvals/0/per_1', { reply: 'once', argumentsHash })).status, 200);
      world.stop();
    }
  });

  check('stays in the list of decisions, as others of people do, however many calls run under its rule', async () => {
    const world = await withRequest();
    const { clock, agents } = world;
    const call = { sessionID: 'ses_1', permission: 'docs_find', patterns: ['*'], reply: 'always', by: 'bob' };
    for (let n = 150; n > 0; n--)
      agents[0].decisions.push({ ...call, id: `per_u${n}`, through: 'per_8', at: clock.now() + n });
    agents[0].decisions.push({ ...call, id: 'per_8', at: clock.now() });
    agents[0].decisions.push({ ...call, id: 'per_7', reply: 'once', at: clock.now() - 1 });
    const { decided } = await world.shown();
    assert.equal(
      decided.filter(({ through }) => through === undefined).map(({ id }) => id),
      ['per_8', 'per_7'],
    );
    assert.is(decided.length, 102);
    world.stop();
  });

  check('is told apart in the list of decisions from the calls that ran under it', async () => {
    const world = await withRequest();
    const { clock, agents } = world;
    const at = clock.now();
    const call = { sessionID: 'ses_1', permission: 'docs_find', patterns: ['*'], reply: 'always', by: 'bob' };
    const covers = [{ permission: 'docs_find', pattern: '*', action: 'allow' }];
    agents[0].decisions.push({ ...call, id: 'per_9', through: 'per_8', at });
    agents[0].decisions.push({ ...call, id: 'per_8', covers, until: at + HOUR_MS, at: at - 1 });
    const { decided } = await world.shown();
    assert.equal(
      decided.map((one) => [one.id, one.through, one.covers]),
      [
        ['per_9', 'per_8', undefined],
        [
          'per_8',
          undefined,
          ['Every call of docs_find, with any arguments, by any agent, in this session, for 60 minutes'],
        ],
      ],
    );
    world.stop();
  });
});
