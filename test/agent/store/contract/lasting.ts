import * as assert from 'uvu/assert';
import { isId } from '../../../../src/agent/protocol/ids.ts';
import {
  decisionAbout,
  type PermissionDecision,
  type PermissionOutcome,
} from '../../../../src/agent/protocol/permissions.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import { type Check, rejection } from '../../../check.ts';
import { idsFrom, permissionRequest, reported, textPart } from '../samples.ts';
import { ascend, CONVERSATION, idsOf, type StorePlaces } from './places.ts';

const HOUR_MS = 3_600_000;

const decisionOf = (id: string, reply: PermissionOutcome['reply']): PermissionDecision => ({
  ...decisionAbout(permissionRequest(id), { reply, by: 'ana' }, 5),
  patterns: ['a\0 \ud800'],
});

/** What every store promises about what is left after a store was closed, and opened again. */
export const checkLasting = (check: Check, { withPlace, isLasting }: StorePlaces): void => {
  check('refuses everything once it is closed, and may be closed again', () =>
    withPlace(async ({ open }) => {
      const store = await open(idsFrom());
      const last = store.commit([CONVERSATION[0]], [reported('last')]);
      await store.close();
      assert.is((await last).length, 1);
      const attempts: readonly (() => Promise<unknown>)[] = [
        () => store.commit([], []),
        () => store.session('ses_1'),
        () => store.sessions({}),
        () => store.messages('ses_1'),
        () => store.message('ses_1', 'msg_1'),
        () => store.output('ses_1', 'prt_1'),
        () => store.unfinished(),
        () => store.owed(),
        () => store.events({ afterID: '', limit: 1 }),
        () => store.permissionEvents('ses_1'),
        () => store.eventSpan(),
        () => store.messageOutlines('ses_1'),
        () => store.messageHeads('ses_1'),
        () => store.pruneEvents(1),
      ];
      for (const attempt of attempts) assert.match(String(await rejection(attempt())), /closed/);
      await store.close();
    }),
  );

  if (!isLasting) return;

  check('finds everything again when it is opened again', () =>
    withPlace(async ({ open }) => {
      const first = await open(idsFrom());
      await first.commit(CONVERSATION, [reported('kept')]);
      const place = { id: 'prt_2', messageID: 'msg_2', sessionID: 'ses_1' };
      for (const text of ['it', 'it grew'])
        await first.commit([{ kind: 'part', part: textPart(place, text), isGrowing: true }], []);
      await first.commit([{ kind: 'answer', sessionID: 'ses_1', promptID: 'msg_1', state: 'owed' }], []);
      const stateOf = async (store: Store) => [
        await store.sessions({}),
        await store.messages('ses_1'),
        await store.unfinished(),
        await store.owed(),
      ];
      const before = await stateOf(first);
      const events = await first.events({ afterID: '', limit: 10 });
      await first.close();
      const second = await open(idsFrom());
      assert.equal(await stateOf(second), before);
      assert.is(await second.output('ses_1', 'prt_3'), 'the whole output');
      assert.equal(await second.events({ afterID: '', limit: 10 }), events);
      await second.close();
    }),
  );

  check('does not bring back what was removed while it grew', () =>
    withPlace(async ({ open }) => {
      const first = await open(idsFrom());
      await first.commit(CONVERSATION, []);
      const grow = async (id: string, messageID: string): Promise<void> => {
        const part = textPart({ id, messageID, sessionID: 'ses_1' }, 'it grows');
        for (const isGrowing of [true, true]) await first.commit([{ kind: 'part', part, isGrowing }], []);
      };
      await grow('prt_2', 'msg_2');
      await grow('prt_9', 'msg_1');
      await first.commit([{ kind: 'parts-removed', sessionID: 'ses_1', partIDs: ['prt_2'] }], []);
      await first.commit([{ kind: 'messages-removed', sessionID: 'ses_1', messageIDs: ['msg_1'] }], []);
      await first.commit([CONVERSATION[1]], []);
      await first.close();
      const second = await open(idsFrom());
      const partsOf = async (id: string) => (await second.message('ses_1', id))?.parts.map((part) => part.id);
      assert.equal([await partsOf('msg_1'), await partsOf('msg_2')], [[], ['prt_3']]);
      await second.close();
    }),
  );

  check('keeps the first decision about each permission request, also after its session', () =>
    withPlace(async ({ open }) => {
      const store = await open(idsFrom());
      await store.commit(CONVERSATION, []);
      for (const id of ['per_2', 'per_1', 'per_ü', 'per_3']) await store.recordDecision(decisionOf(id, 'once'));
      await store.recordDecision(decisionOf('per_1', 'cancelled'));
      await store.commit([{ kind: 'session-removed', sessionID: 'ses_1' }], []);
      const known = isLasting ? await store.close().then(() => open(idsFrom())) : store;
      assert.equal(await known.decision('per_1'), decisionOf('per_1', 'once'));
      assert.is(await known.decision('per_\0'), undefined);
      const idsBefore = async (limit: number, beforeID?: string) =>
        (await known.decisions({ limit, ...(beforeID === undefined ? {} : { beforeID }) })).map(({ id }) => id);
      assert.equal(await idsBefore(2), ['per_3', 'per_ü']);
      assert.equal(await idsBefore(5, 'per_3'), ['per_ü', 'per_1', 'per_2']);
      assert.equal(await idsBefore(5, 'per_2'), []);
      assert.equal([await idsBefore(5, 'per_nowhere'), await idsBefore(0)], [[], []]);
      await known.close();
    }),
  );

  check('gives ids that ascend after a restart with a clock set back, also when no event is left', () =>
    withPlace(async ({ open }) => {
      const now = Date.UTC(2026, 5, 1);
      const all: string[] = [];
      for (const [round, keep] of [undefined, 1, 0, undefined, 0].entries()) {
        const store = await open(idsFrom(now - round * HOUR_MS));
        all.push(...idsOf(await store.commit([], [reported('a'), reported('b')])));
        if (keep !== undefined) await store.pruneEvents(keep);
        await store.close();
      }
      assert.ok(ascend(all));
      assert.ok(all.every((id) => isId('event', id)));
      assert.is(new Set(all).size, 10);
    }),
  );
};
