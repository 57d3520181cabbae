import * as assert from 'uvu/assert';
import { type EventDraft, sessionIDOf } from '../../../../src/agent/protocol/events.ts';
import { isId } from '../../../../src/agent/protocol/ids.ts';
import type { DirectoryEvent } from '../../../../src/agent/store/store.ts';
import type { Check } from '../../../check.ts';
import { deltaOf, idsFrom, permissionRequest, reported, sessionOf } from '../samples.ts';
import { ascend, CONVERSATION, idsOf, type StorePlaces } from './places.ts';

/** What every store promises about events. */
export const checkEvents = (check: Check, { withPlace, withStore }: StorePlaces): void => {
  check('gives events ids that ascend, and gives them back after any of them', () =>
    withStore(async (store) => {
      const first = await store.commit([], [reported('a'), reported('b', '/other'), reported('c')]);
      const second = await store.commit([], [reported('d')]);
      const all = [...first, ...second];
      assert.equal(all[1], { directory: '/other', event: { ...deltaOf('ses_1', 'b'), id: idsOf(all)[1] } });
      assert.ok(idsOf(all).every((id) => isId('event', id)));
      assert.ok(ascend(idsOf(all)));
      assert.equal(await store.events({ afterID: '', limit: 10 }), all);
      assert.equal(await store.events({ afterID: idsOf(all)[1] ?? '', limit: 10 }), all.slice(2));
      assert.equal(await store.events({ afterID: '', limit: 2 }), all.slice(0, 2));
      assert.equal(await store.events({ afterID: '', directory: '/other', limit: 10 }), [all[1]]);
      assert.equal(await store.events({ afterID: idsOf(all)[3] ?? '', limit: 10 }), []);
    }),
  );

  check('replays ten thousand events, in pages too, and forgets all but the newest', () =>
    withStore(async (store) => {
      const kept: DirectoryEvent[] = [];
      for (let batch = 0; batch < 10; batch += 1) {
        const events = Array.from({ length: 1000 }, (_, index) =>
          reported(`${batch}.${index}`, index % 10 === 0 ? '/x' : '/y'),
        );
        kept.push(...(await store.commit([], events)));
      }
      assert.ok(ascend(idsOf(kept)));
      const paged: DirectoryEvent[] = [];
      for (let page = await store.events({ afterID: '', limit: 999 }); page.length > 0; ) {
        paged.push(...page);
        page = await store.events({ afterID: page.at(-1)?.event.id ?? '', limit: 999 });
      }
      assert.equal(paged, kept);
      assert.is((await store.events({ afterID: '', directory: '/x', limit: 20_000 })).length, 1000);
      await store.pruneEvents(20_000);
      assert.is((await store.events({ afterID: '', limit: 20_000 })).length, 10_000);
      await store.pruneEvents(2500);
      assert.equal(await store.events({ afterID: '', limit: 20_000 }), kept.slice(-2500));
      assert.equal(await store.events({ afterID: idsOf(kept)[10] ?? '', limit: 1 }), kept.slice(7500, 7501));
      await store.pruneEvents(0);
      assert.equal(await store.events({ afterID: '', limit: 20_000 }), []);
      assert.ok(ascend(idsOf([...kept.slice(-1), ...(await store.commit([], [reported('on')]))])));
    }),
  );

  check('gives events in pages that end at a bound in bytes, and are never empty for that', () =>
    withStore(async (store) => {
      const texts = ['a', 'b'.repeat(2000), 'c', 'd', 'e'.repeat(5000), 'f'];
      const all = await store.commit(
        [],
        texts.map((text) => reported(text)),
      );
      const pageAfter = async (afterID: string, limitBytes: number) =>
        idsOf(await store.events({ afterID, limit: 10, limitBytes })).map((id) => idsOf(all).indexOf(id));
      assert.equal(await pageAfter('', 1), [0]);
      assert.equal(await pageAfter('', 1000), [0, 1]);
      assert.equal(await pageAfter(idsOf(all)[1] ?? '', 3000), [2, 3, 4]);
      assert.equal(await pageAfter(idsOf(all)[3] ?? '', 1000), [4]);
      assert.equal(await pageAfter(idsOf(all)[3] ?? '', 9000), [4, 5]);
      assert.equal(await pageAfter(idsOf(all)[5] ?? '', 1), []);
      assert.is((await store.events({ afterID: '', limit: 2, limitBytes: 9000 })).length, 2);
    }),
  );

  check('finds the events of permission requests of a session, and no others', () =>
    withStore(async (store) => {
      const asked = (id: string, sessionID: string): EventDraft => ({
        type: 'permission.asked',
        properties: permissionRequest(id, sessionID),
      });
      const replied = { sessionID: 'ses_1', requestID: 'per_1', reply: 'once' } as const;
      const drafts: readonly EventDraft[] = [
        asked('per_1', 'ses_1'),
        deltaOf('ses_1', '{"type":"permission.asked"}'),
        asked('per_2', 'ses_2'),
        { type: 'permission.replied', properties: replied },
      ];
      const placed = await store.commit(
        [],
        drafts.map((draft) => ({ directory: '/', draft })),
      );
      assert.equal(
        await store.permissionEvents('ses_1'),
        placed.filter((_, place) => place === 0 || place === 3),
      );
    }),
  );

  check('knows which events are left, which went for their age, and which was the last there ever was', () =>
    withStore(async (store) => {
      const kept = idsOf(
        await store.commit(
          [CONVERSATION[0]],
          ['a', 'b', 'c', 'd'].map((text) => reported(text)),
        ),
      );
      const [oldest, , third, newest] = kept;
      assert.equal(await store.eventSpan(), { oldest, forgotten: '', newest });
      await store.pruneEvents(1);
      assert.equal(await store.eventSpan(), { oldest: newest, forgotten: third, newest });
      await store.commit([{ kind: 'session-removed', sessionID: 'ses_1' }], []);
      assert.equal(await store.eventSpan(), { oldest: '', forgotten: third, newest });
      const [next] = idsOf(await store.commit([], [reported('e', undefined, 'ses_2')]));
      assert.ok(ascend([newest ?? '', next ?? '']));
      await store.pruneEvents(0);
      assert.equal(await store.eventSpan(), { oldest: '', forgotten: next, newest: next });
    }),
  );

  check('forgets the events of a session with it, but not that it is gone, nor what is of no session', () =>
    withStore(async (store) => {
      const session = sessionOf('ses_1');
      const gone = { type: 'session.deleted', properties: { sessionID: 'ses_1', info: session } } as const;
      const changed = { type: 'mcp.tools.changed', properties: { server: 'docs' } } as const;
      await store.commit(CONVERSATION, [reported('a'), reported('b', '/other'), reported('c', undefined, 'ses_2')]);
      await store.commit([], [{ directory: '/', draft: changed }]);
      const removed = { kind: 'session-removed', sessionID: 'ses_1' } as const;
      await store.commit([removed], [{ directory: '/', draft: gone }]);
      const left = await store.events({ afterID: '', limit: 10 });
      assert.equal(
        left.map(({ event }) => [event.type, sessionIDOf(event)]),
        [
          ['message.part.delta', 'ses_2'],
          ['mcp.tools.changed', undefined],
          ['session.deleted', 'ses_1'],
        ],
      );
      assert.ok(ascend(idsOf(left)));
      const { newest } = await store.eventSpan();
      await store.commit([removed, { kind: 'session-removed', sessionID: 'ses_2' }], []);
      assert.equal(await store.eventSpan(), { oldest: idsOf(left)[1], forgotten: '', newest });
    }),
  );

  check('gives ids that ascend when the clock is set back', () =>
    withPlace(async ({ open }) => {
      const [later, earlier] = [idsFrom(Date.UTC(2026, 5, 1)), idsFrom(Date.UTC(2026, 4, 1))];
      let isSetBack = false;
      const store = await open((kind) => (isSetBack ? earlier : later)(kind));
      const before = await store.commit([], [reported('a'), reported('b')]);
      isSetBack = true;
      const after = await store.commit([], [reported('c'), reported('d')]);
      await store.close();
      assert.ok(ascend(idsOf([...before, ...after])));
      assert.ok(idsOf(after).every((id) => isId('event', id)));
    }),
  );
};
