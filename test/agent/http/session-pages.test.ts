import * as assert from 'uvu/assert';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { exportSession } from '../../../src/agent/session/export.ts';
import type { Store } from '../../../src/agent/store/store.ts';
import { describe, rejection } from '../../check.ts';
import { ask } from '../harness/permission-requests.ts';
import { createAgentWorld } from '../harness/world.ts';
import { createMemoryStore } from '../store/memory-store.ts';
import { idsFrom, sessionOf } from '../store/samples.ts';

const linesOf = async (lines: AsyncIterable<string> | undefined): Promise<string> => {
  let text = '';
  for await (const line of lines ?? []) text += `${line}\n`;
  return text;
};

describe('sessions', (check) => {
  check('are listed page by page, those with one title too, and each once', async () => {
    const store = createMemoryStore({ ids: idsFrom() });
    const all = Array.from({ length: 25 }, (_, index) =>
      sessionOf(`ses_${String(index).padStart(2, '0')}`, {
        title: index % 2 === 0 ? `Grüße ${index}` : `other ${index}`,
        time: { created: 1, updated: Math.floor(index / 5) },
      }),
    );
    await store.commit(
      all.map((session) => ({ kind: 'session', session })),
      [],
    );
    const world = await createAgentWorld({ store });
    const pages = async (query: string): Promise<readonly string[]> => {
      const found: Session[] = [];
      for (;;) {
        const last = found.at(-1);
        const before = last === undefined ? '' : `&before=${last.time.updated},${last.id}`;
        const page = (await world.get(`/session?limit=4${query}${before}`)) as readonly Session[];
        if (page.length === 0) return found.map(({ id }) => id);
        found.push(...page);
      }
    };
    const inOrder = all.toSorted(
      (left, right) => right.time.updated - left.time.updated || (left.id < right.id ? -1 : 1),
    );
    assert.equal(
      await pages(''),
      inOrder.map(({ id }) => id),
    );
    assert.equal(
      await pages('&search=GRÜSSE'),
      inOrder.filter(({ title }) => title.startsWith('G')).map(({ id }) => id),
    );
    for (const wrong of ['ses_01', '5', '5,', 'x,ses_01', `5,ses_${'a'.repeat(80)}`])
      assert.is((await world.call('GET', `/session?before=${wrong}`)).status, 400, wrong);
  });

  check('are exported as the command does it, and one that breaks off has no last line', async () => {
    const kept = createMemoryStore({ ids: idsFrom() });
    let isRemoved = false;
    const store: Store = {
      ...kept,
      message: async (sessionID, id) => (isRemoved ? undefined : kept.message(sessionID, id)),
    };
    const world = await createAgentWorld({ store });
    const id = await world.session({ title: '\u202e<b>' });
    await ask(world, id);
    const whole = await world.call('GET', `/session/${id}/export`);
    assert.is(whole.headers.get('content-type'), 'application/x-ndjson');
    const text = await whole.text();
    assert.is(text, await linesOf(await exportSession(store, id)));
    assert.match(text, /\{"kind":"end"\}\n$/);
    const cut = await world.call('GET', `/session/${id}/export`);
    isRemoved = true;
    assert.instance(await rejection(cut.text()), Error);
    assert.is((await world.call('GET', '/session/ses_nowhere/export')).status, 404);
  });

  check('that nobody reads to the end are read from the store no further', async () => {
    const kept = createMemoryStore({ ids: idsFrom() });
    let reads = 0;
    const store: Store = {
      ...kept,
      message: async (sessionID, id) => {
        reads += 1;
        return kept.message(sessionID, id);
      },
    };
    const world = await createAgentWorld({ store });
    const id = await world.session();
    for (let count = 0; count < 3; count += 1) await ask(world, id);
    reads = 0;
    const { body } = await world.call('GET', `/session/${id}/export`);
    const reader = body?.getReader();
    await reader?.read();
    await reader?.cancel();
    assert.is(reads, 0);
  });
});
