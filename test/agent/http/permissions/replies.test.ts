import * as assert from 'uvu/assert';
import type { PermissionDecision, PermissionRequest } from '../../../../src/agent/protocol/permissions.ts';
import { StoreUnavailableError } from '../../../../src/agent/store/errors.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import { describe } from '../../../check.ts';
import { ask, asksOf, asksWhen, until } from '../../harness/permission-requests.ts';
import { type AgentWorld, calling, createAgentWorld, prompt, replying, toolNamed } from '../../harness/world.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { idsFrom } from '../../store/samples.ts';
import { ASK, decisions, paying, sha256 } from './world.ts';

type Refused = { readonly name: string; readonly data: Readonly<Record<string, unknown>> };

const answering = (world: AgentWorld, asked: PermissionRequest | undefined, body: unknown): Promise<Response> =>
  world.call('POST', `/permission/${asked?.id}/reply`, body);

const refusedBy = async (response: Response): Promise<Refused> => (await response.json()) as Refused;

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
