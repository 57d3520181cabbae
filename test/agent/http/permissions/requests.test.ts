import * as assert from 'uvu/assert';
import type { PermissionRequest } from '../../../../src/agent/protocol/permissions.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import { ASKED_LIMIT_CHARS } from '../../../../src/agent/tools/approvals.ts';
import { describe } from '../../../check.ts';
import { ask, asksOf, asksWhen, callsOf, outputOf, reply, textOf } from '../../harness/permission-requests.ts';
import { type AgentWorld, calling, replying } from '../../harness/world.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { idsFrom } from '../../store/samples.ts';
import { ASK, paying, sha256 } from './world.ts';

type Shown = PermissionRequest & {
  readonly arguments: unknown;
  readonly title: string;
  readonly parent?: { readonly id: string; readonly title: string };
};

const listed = async (world: AgentWorld): Promise<readonly Shown[]> => (await asksOf(world)) as readonly Shown[];

describe('a permission request that is shown', (check) => {
  check('has the arguments that the call is made with, and their hash whatever the order of names', async () => {
    const input = { b: [1, { z: null, a: '\u202e<script>\0' }], amount: '5', 10: 'x', 9: 'y' };
    const { world, paid, id } = await paying([input]);
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const [shown] = await listed(world);
    assert.equal(shown?.arguments, input);
    assert.is(
      shown?.argumentsHash,
      sha256('{"10":"x","9":"y","amount":"5","b":[1,{"a":"\u202e<script>\\u0000","z":null}]}'),
    );
    assert.equal([shown?.agent, shown?.title, shown?.parent], ['build', 'the desk', undefined]);
    assert.is((shown?.time?.ends ?? 0) - (shown?.time?.asked ?? 0), 300_000);
    assert.ok((shown?.time?.asked ?? 0) <= world.clock.now());
    await reply(world, asked, { reply: 'once' });
    await answer;
    assert.equal(paid, [shown?.arguments]);
  });

  check('has them whole at a megabyte; longer ones are refused, and nobody is asked', async () => {
    const largest = { note: 'n'.repeat(ASKED_LIMIT_CHARS - 11) };
    const longer = { note: `${largest.note}n` };
    const { world, paid, id } = await paying([largest, longer]);
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const [shown] = await listed(world);
    assert.equal(shown?.arguments, largest);
    assert.is(shown?.argumentsHash, sha256(JSON.stringify(largest)));
    await reply(world, asked, { reply: 'once' });
    assert.is(textOf(await answer), 'done');
    assert.is(paid.length, 1);
    assert.match(outputOf((await callsOf(world, id))[1]), 'its arguments are longer than 1048576 characters');
  });

  check('names the conversation that its task belongs to', async () => {
    const agents = [{ name: 'helper', canTakeTasks: true }];
    const handed = { description: 'count', prompt: 'Count.', subagent_type: 'helper' };
    const { world, id } = await paying([], {
      agents,
      rules: [ASK, { permission: 'task', pattern: '*', action: 'allow' }],
      scripts: [calling({ name: 'task', input: handed }), calling({ name: 'pay', input: {} }), replying('done')],
    });
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const [shown] = await listed(world);
    assert.not.equal(shown?.sessionID, id);
    assert.equal(shown?.parent, { id, title: 'the desk' });
    assert.match(shown?.title ?? '', '@helper');
    await reply(world, asked, { reply: 'once' });
    await answer;
  });

  check('costs no read of its own: one for the sessions of all, whatever circle their parents are in', async () => {
    const kept = createMemoryStore({ ids: idsFrom() });
    const reads: string[] = [];
    const store: Store = {
      ...kept,
      async session(id) {
        reads.push('session');
        return kept.session(id);
      },
      async sessionsByID(ids) {
        reads.push('sessionsByID');
        return kept.sessionsByID(ids);
      },
    };
    const { world, id } = await paying([{}, {}, {}], { store });
    const other = await world.session({ title: 'the counter' });
    const answers = [ask(world, id), ask(world, other)];
    await asksWhen(world, 2);
    reads.length = 0;
    assert.equal((await listed(world)).map(({ title }) => title).sort(), ['the counter', 'the desk']);
    assert.equal(reads, ['sessionsByID']);
    for (const [child, parentID] of [
      [id, other],
      [other, id],
    ] as const) {
      const session = await kept.session(child);
      if (session !== undefined) await kept.commit([{ kind: 'session', session: { ...session, parentID } }], []);
    }
    assert.is((await listed(world)).length, 2);
    for (const one of [id, other]) await world.call('POST', `/session/${one}/abort`);
    await Promise.all(answers);
    reads.length = 0;
    assert.equal([await listed(world), reads], [[], []]);
  });
});
