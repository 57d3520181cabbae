import * as assert from 'uvu/assert';
import { OrphanError } from '../../../../src/agent/store/errors.ts';
import type { Store } from '../../../../src/agent/store/store.ts';
import { type Check, rejection } from '../../../check.ts';
import { answer, reported, sessionOf, textPart, userMessage } from '../samples.ts';
import { CONVERSATION, infoIDs, type StorePlaces } from './places.ts';

/** What every store promises about conversations: messages, parts and outputs. */
export const checkConversations = (check: Check, { withStore }: StorePlaces): void => {
  check('finds nothing where nothing was kept', () =>
    withStore(async (store) => {
      assert.is(await store.session('ses_1'), undefined);
      assert.is(await store.message('ses_1', 'msg_1'), undefined);
      assert.is(await store.output('ses_1', 'prt_1'), undefined);
      assert.equal(await store.sessions({}), []);
      assert.equal(await store.messages('ses_1'), []);
      assert.equal(await store.unfinished(), []);
      assert.equal(await store.events({ afterID: '', limit: 10 }), []);
      assert.equal(await store.eventSpan(), { oldest: '', forgotten: '', newest: '' });
      assert.equal(await store.messageOutlines('ses_1'), []);
      assert.equal(await store.commit([], []), []);
      await store.commit([{ kind: 'session-removed', sessionID: 'ses_1' }], []);
      await store.pruneEvents(0);
    }),
  );

  check('gives a conversation back, with parts in the order of their ids', () =>
    withStore(async (store) => {
      await store.commit(CONVERSATION, []);
      assert.equal(await store.session('ses_1'), CONVERSATION[0].session);
      const question = { info: CONVERSATION[1].message, parts: [CONVERSATION[2].part] };
      const reply = { info: CONVERSATION[3].message, parts: [CONVERSATION[5].part, CONVERSATION[4].part] };
      assert.equal(await store.messages('ses_1'), [question, reply]);
      assert.equal(await store.message('ses_1', 'msg_2'), reply);
      assert.is(await store.output('ses_1', 'prt_3'), 'the whole output');
    }),
  );

  check('shows what belongs to one session to no one who names another', () =>
    withStore(async (store) => {
      await store.commit([...CONVERSATION, { kind: 'session', session: sessionOf('ses_2') }], []);
      assert.is(await store.message('ses_2', 'msg_2'), undefined);
      assert.is(await store.output('ses_2', 'prt_3'), undefined);
    }),
  );

  check('replaces what has the same id, and leaves what belongs to it', () =>
    withStore(async (store) => {
      await store.commit(CONVERSATION, []);
      const place = { id: 'prt_2', messageID: 'msg_2', sessionID: 'ses_1' };
      const session = sessionOf('ses_1', { title: 'A better title' });
      const message = answer('msg_2', 'ses_1', { time: { created: 1, completed: 2 }, finish: 'stop' });
      await store.commit(
        [
          { kind: 'session', session },
          { kind: 'message', message },
          { kind: 'part', part: textPart(place, 'a longer answer') },
          { kind: 'output', sessionID: 'ses_1', partID: 'prt_3', text: 'another output' },
        ],
        [],
      );
      assert.equal(await store.sessions({}), [session]);
      const [, reply] = await store.messages('ses_1');
      assert.equal(reply, { info: message, parts: [textPart(place, 'a longer answer'), CONVERSATION[4].part] });
      assert.is(await store.output('ses_1', 'prt_3'), 'another output');
    }),
  );

  check('forgets everything of a session with it, but not its children', () =>
    withStore(async (store) => {
      const child = sessionOf('ses_2', { parentID: 'ses_1' });
      await store.commit([...CONVERSATION, { kind: 'session', session: child }], []);
      await store.commit([{ kind: 'session-removed', sessionID: 'ses_1' }], []);
      assert.equal(await store.sessions({}), [child]);
      assert.equal(await store.sessions({ parentID: 'ses_1' }), [child]);
      await store.commit([CONVERSATION[0]], []);
      assert.equal(await store.messages('ses_1'), []);
      assert.is(await store.output('ses_1', 'prt_3'), undefined);
      assert.equal(await store.unfinished(), []);
    }),
  );

  check('gives the newest messages before one, the oldest of them first', () =>
    withStore(async (store) => {
      const ids = ['msg_3', 'msg_1', 'msg_5', 'msg_2', 'msg_4'];
      await store.commit(
        [CONVERSATION[0], ...ids.map((id) => ({ kind: 'message' as const, message: userMessage(id, 'ses_1') }))],
        [],
      );
      const asked = async (by: Parameters<Store['messages']>[1]) => infoIDs(await store.messages('ses_1', by));
      assert.equal(await asked({}), ['msg_1', 'msg_2', 'msg_3', 'msg_4', 'msg_5']);
      assert.equal(await asked({ limit: 2 }), ['msg_4', 'msg_5']);
      assert.equal(await asked({ limit: 9 }), ['msg_1', 'msg_2', 'msg_3', 'msg_4', 'msg_5']);
      assert.equal(await asked({ limit: 0 }), []);
      assert.equal(await asked({ beforeID: 'msg_3' }), ['msg_1', 'msg_2']);
      assert.equal(await asked({ beforeID: 'msg_4', limit: 2 }), ['msg_2', 'msg_3']);
      assert.equal(await asked({ beforeID: 'msg_1', limit: 2 }), []);
      assert.equal(await asked({ fromID: 'msg_4' }), ['msg_4', 'msg_5']);
      assert.equal(await asked({ fromID: 'msg_2', beforeID: 'msg_5' }), ['msg_2', 'msg_3', 'msg_4']);
      assert.equal(await asked({ fromID: 'msg_2', beforeID: 'msg_5', limit: 1 }), ['msg_4']);
      assert.equal(await asked({ fromID: 'msg_6' }), []);
    }),
  );

  check('knows the answers of all sessions that were begun and not completed', () =>
    withStore(async (store) => {
      const place = { id: 'prt_8', messageID: 'msg_8', sessionID: 'ses_2' };
      await store.commit(CONVERSATION, []);
      await store.commit(
        [
          { kind: 'session', session: sessionOf('ses_2') },
          { kind: 'message', message: answer('msg_8', 'ses_2') },
          { kind: 'part', part: textPart(place, 'half an') },
          { kind: 'message', message: answer('msg_9', 'ses_2', { time: { created: 1, completed: 2 } }) },
        ],
        [],
      );
      assert.equal(infoIDs(await store.unfinished()), ['msg_2', 'msg_8']);
      assert.equal((await store.unfinished())[1]?.parts, [textPart(place, 'half an')]);
      await store.commit(
        [{ kind: 'message', message: answer('msg_2', 'ses_1', { time: { created: 1, completed: 2 } }) }],
        [],
      );
      assert.equal(infoIDs(await store.unfinished()), ['msg_8']);
    }),
  );

  check('knows the answers that are owed, in the order of the prompts, until they have ended', () =>
    withStore(async (store) => {
      const owedFor = (promptID: string, sessionID = 'ses_1', state: 'owed' | 'begun' | 'ended' = 'owed') =>
        ({ kind: 'answer', sessionID, promptID, state }) as const;
      await store.commit([{ kind: 'session', session: sessionOf('ses_1') }], []);
      await store.commit([{ kind: 'session-begun', session: sessionOf('ses_2') }], []);
      for (const id of ['msg_3', 'msg_1', 'msg_2'])
        await store.commit([{ kind: 'message', message: userMessage(id, 'ses_1') }, owedFor(id)], []);
      await store.commit([{ kind: 'message', message: userMessage('msg_4', 'ses_2') }, owedFor('msg_4', 'ses_2')], []);
      await store.commit([owedFor('msg_1', 'ses_1', 'begun')], []);
      await store.commit([{ kind: 'message', message: userMessage('msg_3', 'ses_1') }], []);
      const owed = (promptID: string, sessionID = 'ses_1', isBegun = false) => ({ sessionID, promptID, isBegun });
      const ofFirst = [owed('msg_3'), owed('msg_1', 'ses_1', true), owed('msg_2')];
      assert.equal([await store.owed(), await store.owed('ses_1'), await store.owed('ses_2')], [ofFirst, ofFirst, []]);
      await store.commit([{ kind: 'session', session: sessionOf('ses_2') }], []);
      assert.equal(await store.owed(), [...ofFirst, owed('msg_4', 'ses_2')]);
      await store.commit([owedFor('msg_1', 'ses_1', 'ended'), owedFor('msg_4', 'ses_1', 'ended')], []);
      await store.commit([{ kind: 'messages-removed', sessionID: 'ses_1', messageIDs: ['msg_3'] }], []);
      assert.equal(await store.owed(), [owed('msg_2'), owed('msg_4', 'ses_2')]);
      await store.commit([{ kind: 'session-removed', sessionID: 'ses_2' }], []);
      assert.equal(await store.owed(), [owed('msg_2')]);
      for (const [id, session] of [
        ['msg_9', 'ses_1'],
        ['msg_2', 'ses_3'],
      ] as const) {
        const refused = await rejection(store.commit([owedFor(id, session)], [reported('lost')]));
        assert.instance(refused, OrphanError);
      }
      assert.equal(await store.owed(), [owed('msg_2')]);
    }),
  );

  check('knows messages by their ids and sizes without giving them', () =>
    withStore(async (store) => {
      await store.commit(CONVERSATION, []);
      await store.commit([{ kind: 'message', message: userMessage('msg_3', 'ses_1') }], []);
      const place = { id: 'prt_9', messageID: 'msg_1', sessionID: 'ses_1' };
      const before = await store.messageOutlines('ses_1');
      assert.equal(
        before.map(({ id }) => id),
        ['msg_1', 'msg_2', 'msg_3'],
      );
      assert.ok((before[2]?.bytes ?? 0) < (before[0]?.bytes ?? 0));
      await store.commit([{ kind: 'part', part: textPart(place, 'x'.repeat(10_000)) }], []);
      const grown = (await store.messageOutlines('ses_1'))[0]?.bytes ?? 0;
      assert.ok(Math.abs(grown - (before[0]?.bytes ?? 0) - 10_000) < 200, String(grown));
      assert.equal(
        (await store.messageOutlines('ses_1', { limit: 1, beforeID: 'msg_3' })).map(({ id }) => id),
        ['msg_2'],
      );
    }),
  );

  check('shows a part that grows as it is now, to everyone who asks for it', () =>
    withStore(async (store) => {
      await store.commit(CONVERSATION, []);
      const place = { id: 'prt_2', messageID: 'msg_2', sessionID: 'ses_1' };
      for (const text of ['an', 'an answer', 'an answer that grows']) {
        await store.commit([{ kind: 'part', part: textPart(place, text), isGrowing: true }], [reported(text)]);
        for (const message of [
          await store.message('ses_1', 'msg_2'),
          (await store.messages('ses_1'))[1],
          (await store.unfinished())[0],
        ])
          assert.equal(message?.parts[0], textPart(place, text));
      }
      const elsewhere = { ...place, messageID: 'msg_1' };
      const error = await rejection(
        store.commit([{ kind: 'part', part: textPart(elsewhere, 'x'), isGrowing: true }], []),
      );
      assert.instance(error, OrphanError);
      await store.commit([{ kind: 'session-removed', sessionID: 'ses_1' }, ...CONVERSATION], []);
      assert.equal((await store.message('ses_1', 'msg_2'))?.parts[0], CONVERSATION[5].part);
    }),
  );

  check('forgets messages with their parts and outputs, and nothing that is of another session', () =>
    withStore(async (store) => {
      await store.commit([...CONVERSATION, { kind: 'session', session: sessionOf('ses_2') }], [reported('stays')]);
      const before = await store.messages('ses_1');
      const messageIDs = ['msg_2', 'msg_9'];
      await store.commit([{ kind: 'messages-removed', sessionID: 'ses_2', messageIDs }], []);
      await store.commit([{ kind: 'parts-removed', sessionID: 'ses_2', partIDs: ['prt_3'] }], []);
      assert.equal(await store.messages('ses_1'), before);
      await store.commit([{ kind: 'messages-removed', sessionID: 'ses_1', messageIDs }], []);
      assert.equal(await store.messages('ses_1'), before.slice(0, 1));
      assert.is(await store.message('ses_1', 'msg_2'), undefined);
      assert.is(await store.output('ses_1', 'prt_3'), undefined);
      assert.equal(await store.unfinished(), []);
      assert.is((await store.events({ afterID: '', limit: 10 })).length, 1);
      // Its id is free, and nothing of what it had is left.
      await store.commit([CONVERSATION[3]], []);
      assert.equal((await store.message('ses_1', 'msg_2'))?.parts, []);
    }),
  );

  check('forgets single parts with their outputs', () =>
    withStore(async (store) => {
      await store.commit(CONVERSATION, []);
      const place = { id: 'prt_2', messageID: 'msg_2', sessionID: 'ses_1' };
      for (const text of ['an', 'an answer'])
        await store.commit([{ kind: 'part', part: textPart(place, text), isGrowing: true }], []);
      const removed = { kind: 'parts-removed', sessionID: 'ses_1', partIDs: ['prt_2', 'prt_3', 'prt_9'] } as const;
      await store.commit([removed], []);
      assert.equal((await store.message('ses_1', 'msg_2'))?.parts, []);
      assert.is(await store.output('ses_1', 'prt_3'), undefined);
      assert.is((await store.message('ses_1', 'msg_1'))?.parts.length, 1);
      await store.commit([CONVERSATION[5]], []);
      assert.equal((await store.message('ses_1', 'msg_2'))?.parts, [CONVERSATION[5].part]);
    }),
  );
};
