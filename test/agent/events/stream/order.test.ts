import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { followEvents } from '../../../../src/agent/events/stream.ts';
import { describe } from '../../../check.ts';
import { fed, idsIn, turn } from './world.ts';

describe('following events', (check) => {
  check('reports those that happen from now on, once each and in order', async () => {
    const { store, publish, follow, end } = fed();
    await publish('/a', 3);
    const reader = follow();
    for (let count = 0; count < 20; count++) await publish('/a', count % 3);
    end();
    await reader.done;
    assert.equal(reader.collected, (await idsIn(store)).slice(3));
  });

  check('reports what was missed first, however much it is', async () => {
    const { store, publish, follow, end } = fed();
    await publish('/a', 1700);
    const ids = await idsIn(store);
    const reader = follow(ids[99]);
    await publish('/a', 5);
    await turn();
    end();
    await reader.done;
    assert.equal(reader.collected, (await idsIn(store)).slice(100));
  });

  check('loses and doubles nothing, whenever a reader leaves and comes back', async () => {
    const step = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({ kind: fc.constant('publish' as const), count: fc.integer({ min: 1, max: 700 }) }),
      },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('cut' as const), count: fc.nat(3) }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant('wait' as const), count: fc.nat(3) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), fc.boolean(), async (steps, isNarrow) => {
        const { store, publish, follow, end } = fed((inner) => ({
          ...inner,
          async events(asked) {
            const found = await inner.events(asked);
            await turn();
            return found;
          },
        }));
        await publish('/a', 1);
        const directory = isNarrow ? '/a' : undefined;
        const [first = ''] = await idsIn(store);
        const all: string[] = [];
        let reader = follow(first, directory);
        const publishing: Promise<unknown>[] = [];
        for (const [index, { kind, count }] of steps.entries()) {
          if (kind === 'publish') publishing.push(publish(index % 3 === 0 ? '/b' : '/a', count));
          if (kind === 'wait') for (let turns = 0; turns < count; turns++) await turn();
          if (kind !== 'cut') continue;
          reader.leave();
          await reader.done;
          all.push(...reader.collected);
          for (let turns = 0; turns < count; turns++) await turn();
          reader = follow(all.at(-1) ?? first, directory);
        }
        await Promise.all(publishing);
        for (let turns = 0; turns < 60; turns++) await turn();
        end();
        await reader.done;
        all.push(...reader.collected);
        assert.equal(reader.lost, []);
        assert.equal(
          all,
          (await idsIn(store, directory)).filter((id) => id > first),
        );
      }),
      { numRuns: 40 },
    );
  });

  check('learns of one directory only, when it is asked for one', async () => {
    const { store, publish, follow, end } = fed();
    const reader = follow(undefined, '/a');
    for (const directory of ['/a', '/b', '/a/c', '/a']) await publish(directory);
    end();
    await reader.done;
    assert.equal(reader.collected, await idsIn(store, '/a'));
    assert.is(reader.collected.length, 2);
  });

  check('reads the past in pages that hold few bytes, and leaves nothing out', async () => {
    const asked: { readonly count: number; readonly bytes: number }[] = [];
    const { store, publishTexts, follow, end } = fed((inner) => ({
      ...inner,
      async events(wanted) {
        const page = await inner.events(wanted);
        if (wanted.limitBytes !== undefined) asked.push({ count: page.length, bytes: JSON.stringify(page).length });
        return page;
      },
    }));
    await publishTexts(['a', ...Array.from({ length: 30 }, () => 'x'.repeat(300_000)), 'y'.repeat(5_000_000), 'b']);
    const ids = await idsIn(store);
    const reader = follow(ids[0]);
    await turn();
    end();
    await reader.done;
    assert.equal(reader.collected, ids.slice(1));
    for (const { count, bytes } of asked) assert.ok(count <= 1 || bytes < 6_500_000, `${count} events, ${bytes} bytes`);
    assert.ok(asked.length >= 9, `${asked.length} pages`);
  });

  check('is not cut off while it reports what was missed: what comes meanwhile is part of it', async () => {
    const { store, publish, publisher, ending, end } = fed();
    await publish('/a', 1100);
    const [first = ''] = await idsIn(store);
    const source = followEvents(
      { store, publisher, ending: ending.signal },
      { afterID: first, directory: undefined, disconnected: new AbortController().signal },
    );
    const collected: string[] = [first];
    for await (const reported of source) {
      collected.push('event' in reported ? reported.event.id : 'lost');
      if (collected.length === 10) for (let count = 0; count < 12; count++) await publish('/a', 1000);
      // Once it has come to the end of what it missed.
      if (collected.length === 13_100) void turn().then(() => publish('/a', 5));
      if (collected.length === 13_105) end();
    }
    assert.is(collected.length, 13_105);
    assert.equal(collected, await idsIn(store));
  });
});
