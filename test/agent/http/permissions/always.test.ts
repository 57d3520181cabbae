import * as assert from 'uvu/assert';
import type { PermissionRequest } from '../../../../src/agent/protocol/permissions.ts';
import { StoreUnavailableError } from '../../../../src/agent/store/errors.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import type { AgentTool } from '../../../../src/agent/tools/tool.ts';
import { describe } from '../../../check.ts';
import { ask, asksOf, asksWhen, reply } from '../../harness/permission-requests.ts';
import { type AgentWorld, calling, outcome, replying, toolNamed } from '../../harness/world.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { idsFrom } from '../../store/samples.ts';
import { ASK, decisions, paying, sha256 } from './world.ts';

type Refused = { readonly name: string; readonly data: { readonly code: string; readonly message: string } };
type Listed = Readonly<Record<string, unknown>> & { readonly id: string; readonly uses: number };

const HOUR_MS = 3_600_000;
const rulesOf = async (world: AgentWorld): Promise<readonly Listed[]> =>
  (await world.get('/permission/standing')) as readonly Listed[];

const relay = (tool: string): AgentTool => ({
  ...toolNamed(`money_${tool}`, async () => outcome('done')),
  origin: { server: 'money', tool },
});

/** The request of a call for which each reply `always` is refused, after both forms of it were given. */
const refusing = async (tool: AgentTool, input: object, reason: RegExp): Promise<PermissionRequest> => {
  const { world, id } = await paying([], {
    tools: [tool, relay('preview_recharge')],
    rules: [ASK],
    scripts: [calling({ name: tool.name, input }), replying('done')],
  });
  const answer = ask(world, id);
  const [asked] = await asksWhen(world, 1);
  const refusals = [
    await world.call('POST', `/permission/${asked?.id}/reply`, {
      reply: 'always',
      argumentsHash: asked?.argumentsHash,
    }),
    await world.call('POST', `/session/${id}/permissions/${asked?.id}`, { response: 'always' }),
  ];
  for (const refused of refusals) {
    assert.is(refused.status, 403);
    const { name, data } = (await refused.json()) as Refused;
    assert.equal([name, data.code], ['AlwaysRefusedError', 'always_refused']);
    assert.match(data.message, reason);
    assert.match(data.message, 'Answer "once" or "reject"');
  }
  assert.equal([(await asksOf(world)).length, await decisions(world), await rulesOf(world)], [1, [], []]);
  await reply(world, asked, { reply: 'once' });
  await answer;
  assert.equal(
    (await decisions(world)).map(({ reply: given }) => given),
    ['once'],
  );
  if (asked === undefined) throw new Error('nothing was asked');
  return asked;
};

describe('the reply always', (check) => {
  check('is refused for a call that moves money, and for tools that are destructive or listed', async () => {
    for (const [tool, input, reason, alwaysRefused] of [
      [relay('recharge'), { preview_token: 'tok' }, /moves money/, 'recharge'],
      [{ ...toolNamed('wipe'), isDestructive: true }, {}, /destroy or overwrite/, 'destructive'],
      [toolNamed('desk_close'), {}, /permission_once_only/, 'listed'],
    ] as const) {
      const asked = await refusing(tool, input, reason);
      assert.equal([asked.alwaysRefused, asked.always, asked.alwaysMs], [alwaysRefused, [], undefined]);
    }
  });

  check(
    'makes a rule that is listed with who, since when and how often, and each call under it is a decision',
    async () => {
      const { world, paid, id } = await paying([{ n: 1 }, { n: 2 }, { n: 3 }]);
      const answer = ask(world, id);
      const [asked] = await asksWhen(world, 1);
      const since = world.clock.now();
      await reply(world, asked, { reply: 'always', by: 'Ana' });
      await answer;
      assert.is(paid.length, 3);
      const until = since + HOUR_MS;
      const rule = { id: asked?.id, sessionID: id, permission: 'pay', patterns: ['*'], agent: 'build', by: 'Ana' };
      assert.equal(await rulesOf(world), [{ ...rule, since, until, uses: 2 }]);
      const kept = await decisions(world);
      assert.equal(
        kept.map(({ reply: given, by, through, argumentsHash }) => [given, by, through, argumentsHash]),
        [
          ['always', 'Ana', asked?.id, sha256('{"n":3}')],
          ['always', 'Ana', asked?.id, sha256('{"n":2}')],
          ['always', 'Ana', undefined, sha256('{"n":1}')],
        ],
      );
      assert.equal(new Set(kept.map(({ tool }) => tool?.callID)).size, 3);
      assert.equal([kept[2]?.until, kept[1]?.until], [until, undefined]);
    },
  );

  check('holds for an hour', async () => {
    const { world, paid, id } = await paying([{ n: 1 }]);
    const first = ask(world, id);
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'always' });
    const [rule] = await rulesOf(world);
    await first;
    await world.clock.advance(Number(rule?.until) - world.clock.now() - 1);
    assert.is((await rulesOf(world)).length, 1);
    await world.clock.advance(1);
    assert.equal(await rulesOf(world), []);
    assert.is(paid.length, 1);
  });

  check('holds until somebody revokes it, once', async () => {
    const { world, paid, id } = await paying([{ n: 1 }], {
      scripts: [
        calling({ name: 'pay', input: { n: 1 } }),
        replying('done'),
        calling({ name: 'pay', input: { n: 2 } }),
        replying('done'),
      ],
    });
    const first = ask(world, id);
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'always' });
    await first;
    const path = `/permission/standing/${(await rulesOf(world))[0]?.id}`;
    const revoked = await Promise.all([world.call('DELETE', path), world.call('DELETE', path)]);
    assert.equal(
      revoked.map(({ status }) => status),
      [200, 404],
    );
    for (const none of ['per_x', 'per_0%00', '..%2F..'])
      assert.is((await world.call('DELETE', `/permission/standing/${none}`)).status, 404);
    assert.equal(await rulesOf(world), []);
    const second = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    assert.is(paid.length, 1);
    await reply(world, asked, { reply: 'once' });
    await second;
  });

  check('lets no call run under its rule while that cannot be kept', async () => {
    const kept = createMemoryStore({ ids: idsFrom() });
    let count = 0;
    const store: Store = {
      ...kept,
      async recordDecision(decision) {
        count += 1;
        if (count > 1) throw new StoreUnavailableError('disk-full');
        await kept.recordDecision(decision);
      },
    };
    const { world, paid, id } = await paying([{ n: 1 }, { n: 2 }], { store });
    const answer = ask(world, id);
    await reply(world, (await asksWhen(world, 1))[0], { reply: 'always' });
    await answer;
    assert.equal([paid, (await rulesOf(world))[0]?.uses], [[{ n: 1 }], 0]);
  });
});
