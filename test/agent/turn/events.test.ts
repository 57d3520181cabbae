import fc from 'fast-check';
import * as assert from 'uvu/assert';
import type { AgentEvent } from '../../../src/agent/protocol/events.ts';
import { createIds } from '../../../src/agent/protocol/ids.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe } from '../../check.ts';
import { createFakeClock } from '../../fake-clock.ts';
import { ask, askAndRead, asksWhen, eventsOf, reply, textOf } from '../harness/permission-requests.ts';
import { calling, createAgentWorld, replying, type Script, toolNamed } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';

/** An event in one word. */
const wordFor = (event: AgentEvent): string => {
  if (event.type === 'session.status') return event.properties.status.type;
  if (event.type === 'message.updated') return `message ${event.properties.info.role}`;
  if (event.type !== 'message.part.updated') return event.type;
  const { part } = event.properties;
  return part.type === 'tool' ? `tool ${part.state.status}` : `part ${part.type}`;
};
/** Only the first of several that are alike. */
const once = (words: readonly string[]): readonly string[] =>
  words.filter((word, index) => word !== words[index - 1] && word !== 'session.updated');

const freshStore = (): Store => {
  const ids = createIds(createFakeClock(), (count) => crypto.getRandomValues(new Uint8Array(count)));
  return createMemoryStore({ ids });
};

describe('the events of a turn', (check) => {
  check('come in the order that clients know, for a turn with a tool and a question', async () => {
    const rules = [{ permission: '*', pattern: '*', action: 'ask' as const }];
    const scripts = [calling({ name: 'look', input: {} }), replying('seen')];
    const world = await createAgentWorld({ scripts, rules, tools: [toolNamed('look')] });
    const answer = ask(world, await world.session({ title: 'Mine' }));
    const [asked] = await asksWhen(world, 1);
    await reply(world, asked, { reply: 'once' });
    await answer;
    await world.clock.advance(100);
    const words = (await world.events()).map(wordFor);
    assert.equal(words.slice(0, 4), ['session.created', 'session.updated', 'message user', 'part text']);
    assert.equal(once(words.slice(4)), [
      'busy',
      'message assistant',
      'part step-start',
      'tool pending',
      'permission.asked',
      'permission.replied',
      'tool running',
      'tool completed',
      'part step-finish',
      'message assistant',
      'part step-start',
      'part text',
      'message.part.delta',
      'part text',
      'part step-finish',
      'message assistant',
      'idle',
      'session.idle',
    ]);
  });

  check('have ids that ascend, and the deltas of a text make up the text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ maxLength: 5 }), { maxLength: 30 }), async (pieces) => {
        const world = await createAgentWorld({ scripts: [replying(...pieces)] });
        const answer = await ask(world, await world.session({ title: 'Mine' }));
        const ids = (await world.events()).map(({ id }) => id);
        assert.equal(ids, [...new Set(ids)].sort());
        const deltas = await eventsOf(world, 'message.part.delta');
        assert.is(deltas.map(({ properties }) => properties.delta).join(''), pieces.join(''));
        assert.is(textOf(answer), pieces.join(''));
      }),
      { numRuns: 30 },
    );
  });

  check('are few for a text in ten thousand pieces', async () => {
    const world = await createAgentWorld({ scripts: [replying(...Array.from({ length: 10_000 }, () => 'ab '))] });
    const answer = ask(world, await world.session({ title: 'Mine' }));
    await world.clock.advance(1000);
    assert.is(textOf(await answer), 'ab '.repeat(10_000));
    const deltas = await eventsOf(world, 'message.part.delta');
    assert.is(deltas.map(({ properties }) => properties.delta).join('').length, 30_000);
    assert.ok(deltas.length <= 10, `${deltas.length} deltas`);
  });

  check('are reported while a slow model still speaks', async () => {
    const world = await createAgentWorld({
      scripts: [
        async function* () {
          for (const delta of ['one', 'two']) {
            yield { kind: 'text', delta } as const;
            await new Promise<void>((resolve) => world.clock.after(1000, resolve));
          }
          const tokens = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } };
          yield { kind: 'finished', finish: 'stop', tokens } as const;
        } satisfies Script,
      ],
    });
    const answer = ask(world, await world.session({ title: 'Mine' }));
    await world.clock.advance(500);
    assert.is((await eventsOf(world, 'message.part.delta')).length, 1);
    await world.clock.advance(1000);
    assert.is((await eventsOf(world, 'message.part.delta')).length, 2);
    await world.clock.advance(1000);
    assert.is(textOf(await answer), 'onetwo');
  });

  check('are in the store before anyone learns of them', async () => {
    const inner = freshStore();
    const stored = new Set<string>();
    const store: Store = {
      ...inner,
      async commit(changes, events) {
        const placed = await inner.commit(changes, events);
        // A disk takes its time.
        await new Promise((resolve) => setImmediate(resolve));
        for (const { event } of placed) stored.add(event.id);
        return placed;
      },
    };
    const world = await createAgentWorld({ store, scripts: [calling({ name: 'look', input: {} }), replying('seen')] });
    const stream = (await world.call('GET', '/event')).body?.pipeThrough(new TextDecoderStream()).getReader();
    const collected: string[] = [];
    const listening = (async () => {
      for (let text = ''; text !== undefined; ) {
        text = (await stream?.read())?.value ?? '';
        if (text === '') return;
        for (const [, id = ''] of text.matchAll(/^id: (.*)$/gm)) {
          collected.push(id);
          assert.ok(stored.has(id), `heard of ${id} before it was stored`);
        }
      }
    })();
    await askAndRead(world, await world.session({ title: 'Mine' }));
    await world.clock.advance(100);
    await world.server.stop();
    await listening;
    assert.equal(collected, [...stored]);
  });
});
