import { createHash } from 'node:crypto';
import * as assert from 'uvu/assert';
import type { PermissionDecision, PermissionRequest } from '../../../src/agent/protocol/permissions.ts';
import { StoreUnavailableError } from '../../../src/agent/store/errors.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { ASKED_LIMIT_CHARS } from '../../../src/agent/tools/approvals.ts';
import { describe } from '../../check.ts';
import { ask, asksOf, asksWhen, callsOf, outputOf, reply, textOf, until } from '../harness/permission-requests.ts';
import {
  type AgentWorld,
  calling,
  createAgentWorld,
  outcome,
  prompt,
  replying,
  toolNamed,
  type WorldGiven,
} from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { idsFrom } from '../store/samples.ts';

const ASK = { permission: '*', pattern: '*', action: 'ask' } as const;
type Shown = PermissionRequest & {
  readonly arguments: unknown;
  readonly title: string;
  readonly parent?: { readonly id: string; readonly title: string };
};
type Refused = { readonly name: string; readonly data: Readonly<Record<string, unknown>> };

/** A world in which every tool asks, and the model makes these calls of `pay`, one a step. */
const paying = async (inputs: readonly unknown[], given: WorldGiven = {}) => {
  const paid: unknown[] = [];
  const pay = toolNamed('pay', async (input) => {
    paid.push(input);
    return outcome('paid');
  });
  const world = await createAgentWorld({
    tools: [pay],
    rules: [ASK],
    scripts: [...inputs.map((input) => calling({ name: 'pay', input })), replying('done')],
    ...given,
  });
  return { world, paid, id: await world.session({ title: 'the desk' }) };
};
const listed = async (world: AgentWorld): Promise<readonly Shown[]> => (await asksOf(world)) as readonly Shown[];
const decisions = async (world: AgentWorld, query = ''): Promise<readonly PermissionDecision[]> =>
  (await world.get(`/permission/decisions${query}`)) as readonly PermissionDecision[];
const answering = (world: AgentWorld, asked: PermissionRequest | undefined, body: unknown): Promise<Response> =>
  world.call('POST', `/permission/${asked?.id}/reply`, body);
const refusedBy = async (response: Response): Promise<Refused> => (await response.json()) as Refused;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

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

describe('a reply to a permission request', (check) => {
  check('is kept with who gave it, and shown to who comes second with what and when', async () => {
    const { world, id } = await paying([{ amount: '5' }]);
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const both = await Promise.all([
      answering(world, asked, { reply: 'reject', message: 'ask Bo', by: 'Ana Ruíz' }),
      answering(world, asked, { reply: 'once', by: 'Bo' }),
    ]);
    assert.equal(
      both.map(({ status }) => status),
      [200, 404],
    );
    const { name, data } = await refusedBy(both[1]);
    assert.is(name, 'NotFoundError');
    assert.is(data.code, 'already_decided');
    const at = world.clock.now();
    assert.equal(data.decided, { reply: 'reject', by: 'Ana Ruíz', message: 'ask Bo', at });
    await answer;
    assert.equal(await decisions(world), [
      {
        id: asked?.id,
        sessionID: id,
        permission: 'pay',
        patterns: ['*'],
        tool: asked?.tool,
        agent: 'build',
        argumentsHash: sha256('{"amount":"5"}'),
        reply: 'reject',
        message: 'ask Bo',
        by: 'Ana Ruíz',
        asked: asked?.time?.asked,
        at,
      },
    ]);
    const old = await world.call('POST', `/session/${id}/permissions/${asked?.id}`, { response: 'once' });
    assert.equal([old.status, (await refusedBy(old)).data.code], [404, 'already_decided']);
    // Also when the session is gone.
    await world.call('DELETE', `/session/${id}`);
    assert.is((await decisions(world)).length, 1);
  });

  check('decides nothing where it names other arguments than those of the request', async () => {
    const { world, paid, id } = await paying([{ amount: '5' }]);
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    const wrong = await answering(world, asked, { reply: 'always', argumentsHash: sha256('{"amount":"50"}') });
    assert.is(wrong.status, 409);
    assert.is((await refusedBy(wrong)).data.code, 'arguments_changed');
    assert.is((await asksOf(world)).length, 1);
    assert.equal([paid, await decisions(world)], [[], []]);
    const right = { reply: 'always', argumentsHash: asked?.argumentsHash, by: 'ana' };
    assert.is((await answering(world, asked, right)).status, 200);
    await answer;
    assert.equal((await decisions(world))[0]?.covers, [{ permission: 'pay', pattern: '*', action: 'allow' }]);
    const late = await answering(world, asked, { reply: 'once', argumentsHash: sha256('x') });
    assert.equal([late.status, (await refusedBy(late)).data.code], [404, 'already_decided']);
  });

  check('has a name that can be read in a line, and a hash that is one', async () => {
    const { world, id } = await paying([{}]);
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    for (const by of ['', '  ', 'a\nb', 'a\0', '\u202eana', 'x'.repeat(129), 7])
      assert.is((await answering(world, asked, { reply: 'once', by })).status, 400, JSON.stringify(by));
    for (const argumentsHash of ['', 'x', 'A'.repeat(64), 7])
      assert.is((await answering(world, asked, { reply: 'once', argumentsHash })).status, 400);
    assert.is((await answering(world, asked, { reply: 'once', by: '山'.repeat(128) })).status, 200);
    await answer;
  });

  check('without a name is of the user that the client logs in as, or of somebody unknown', async () => {
    const authorization = `Basic ${btoa('desk:p')}`;
    for (const [credentials, by] of [
      [undefined, 'unknown'],
      [{ username: 'desk', password: 'p' }, 'desk'],
    ] as const) {
      const world = await createAgentWorld({
        tools: [toolNamed('pay')],
        rules: [ASK],
        scripts: [calling({ name: 'pay', input: {} }), replying('done')],
        changes: { credentials },
      });
      const call = async (method: string, path: string, body?: unknown): Promise<unknown> =>
        (await world.call(method, path, body, { authorization })).json();
      const { id } = (await call('POST', '/session', {})) as { readonly id: string };
      const answer = call('POST', `/session/${id}/message`, prompt('hello'));
      let open: readonly PermissionRequest[] = [];
      await until(world, async () => {
        open = (await call('GET', '/permission')) as readonly PermissionRequest[];
        return open.length > 0;
      });
      await call('POST', `/session/${id}/permissions/${open[0]?.id}`, { response: 'once' });
      await answer;
      assert.equal(
        ((await call('GET', '/permission/decisions')) as readonly PermissionDecision[]).map((one) => one.by),
        [by],
      );
    }
  });

  check('runs no call while it cannot be kept, and may be given again', async () => {
    const kept = createMemoryStore({ ids: idsFrom() });
    let isBroken = true;
    const store: Store = {
      ...kept,
      async recordDecision(decision) {
        if (isBroken) throw new StoreUnavailableError('disk-full');
        await kept.recordDecision(decision);
      },
    };
    const { world, paid, id } = await paying([{ amount: '5' }], { store });
    const answer = ask(world, id);
    const [asked] = await asksWhen(world, 1);
    assert.is((await answering(world, asked, { reply: 'always' })).status, 507);
    await world.clock.advance(10);
    assert.equal([paid, (await asksOf(world)).length], [[], 1]);
    isBroken = false;
    assert.is((await answering(world, asked, { reply: 'once' })).status, 200);
    await answer;
    assert.equal(paid, [{ amount: '5' }]);
    assert.equal(
      (await decisions(world)).map((one) => one.reply),
      ['once'],
    );
  });
});

describe('what became of permission requests', (check) => {
  check('is kept where no one decided, or another reply did, and listed page by page', async () => {
    const two = [
      { name: 'pay', input: { amount: '1' } },
      { name: 'pay', input: { amount: '2' } },
    ];
    const { world, id } = await paying([], { scripts: [calling(...two)] });
    const rejected = ask(world, id);
    const [first, second] = await asksWhen(world, 2);
    await reply(world, first, { reply: 'reject', by: 'ana' });
    await rejected;
    const expired = ask(world, id);
    await asksWhen(world, 2);
    await world.clock.advance(300_000);
    await expired;
    const aborted = ask(world, id);
    await asksWhen(world, 2);
    await world.post(`/session/${id}/abort`);
    await aborted;
    const all = await decisions(world);
    assert.equal(
      all.map((one) => [one.reply, one.by]),
      [
        ['cancelled', undefined],
        ['cancelled', undefined],
        ['expired', undefined],
        ['expired', undefined],
        ['cancelled', 'ana'],
        ['reject', 'ana'],
      ],
    );
    assert.equal([all[4]?.id, all[4]?.through], [second?.id, first?.id]);
    const page = await decisions(world, '?limit=4');
    assert.equal(page, all.slice(0, 4));
    assert.equal(await decisions(world, `?limit=4&before=${page.at(-1)?.id}`), all.slice(4));
    assert.is((await world.call('GET', '/permission/decisions?limit=1001')).status, 400);
  });

  check('is kept by the next start after a kill', async () => {
    const store = createMemoryStore({ ids: idsFrom() });
    const { world, id } = await paying([{}], { store });
    void ask(world, id).catch(() => {});
    const [asked] = await asksWhen(world, 1);
    const next = await createAgentWorld({ store });
    await until(next, async () => (await decisions(next)).length > 0);
    assert.equal(
      (await decisions(next)).map((one) => [one.id, one.reply, one.by]),
      [[asked?.id, 'cancelled', undefined]],
    );
  });
});
