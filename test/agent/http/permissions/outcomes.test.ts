import * as assert from 'uvu/assert';
import { describe } from '../../../check.ts';
import { ask, asksWhen, reply, until } from '../../harness/permission-requests.ts';
import { calling, createAgentWorld } from '../../harness/world.ts';
import { createMemoryStore } from '../../store/memory-store.ts';
import { idsFrom } from '../../store/samples.ts';
import { decisions, paying } from './world.ts';

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
