import * as assert from 'uvu/assert';
import { OrphanError } from '../../../../src/agent/store/errors.ts';
import { type Check, rejection } from '../../../check.ts';
import { reported, sessionOf, textPart, userMessage } from '../samples.ts';
import { CONVERSATION, infoIDs, type StorePlaces } from './places.ts';

/** What every store promises about commits: what is refused, and what happens at the same time. */
export const checkCommits = (check: Check, { withStore }: StorePlaces): void => {
  const orphans = {
    'a message of no session': { kind: 'message', message: userMessage('msg_9', 'ses_9') },
    'a message under an id that another session has': { kind: 'message', message: userMessage('msg_1', 'ses_2') },
    'a part of no message': {
      kind: 'part',
      part: textPart({ id: 'prt_9', messageID: 'msg_9', sessionID: 'ses_1' }, 'x'),
    },
    'a part of a message of another session': {
      kind: 'part',
      part: textPart({ id: 'prt_9', messageID: 'msg_1', sessionID: 'ses_2' }, 'x'),
    },
    'a part under an id that another message has': {
      kind: 'part',
      part: textPart({ id: 'prt_1', messageID: 'msg_2', sessionID: 'ses_1' }, 'x'),
    },
    'an output of no part': { kind: 'output', sessionID: 'ses_1', partID: 'prt_9', text: 'x' },
    'an output of a part of another session': { kind: 'output', sessionID: 'ses_2', partID: 'prt_3', text: 'x' },
  } as const;

  for (const [what, orphan] of Object.entries(orphans)) {
    check(`keeps nothing of a commit that holds ${what}, nor of its events`, () =>
      withStore(async (store) => {
        const other = sessionOf('ses_2');
        await store.commit([...CONVERSATION, { kind: 'session', session: other }], []);
        const before = await store.messages('ses_1');
        const error = await rejection(
          store.commit(
            [
              { kind: 'session', session: sessionOf('ses_1', { title: 'changed' }) },
              { kind: 'session-removed', sessionID: 'ses_0' },
              { kind: 'session', session: sessionOf('ses_3') },
              { kind: 'output', sessionID: 'ses_1', partID: 'prt_3', text: 'changed' },
              orphan,
              { kind: 'session', session: sessionOf('ses_4') },
            ],
            [reported('never')],
          ),
        );
        assert.ok(error instanceof OrphanError);
        assert.is(error.kind, orphan.kind);
        assert.equal(await store.sessions({}), [CONVERSATION[0].session, other]);
        assert.equal(await store.messages('ses_1'), before);
        assert.equal(await store.messages('ses_2'), []);
        assert.is(await store.output('ses_1', 'prt_3'), 'the whole output');
        assert.equal(await store.events({ afterID: '', limit: 10 }), []);
      }),
    );
  }

  check('brings back what a commit removed before it failed', () =>
    withStore(async (store) => {
      await store.commit(CONVERSATION, []);
      const before = await store.messages('ses_1');
      const removed = { kind: 'session-removed', sessionID: 'ses_1' } as const;
      await rejection(store.commit([removed, CONVERSATION[1]], []));
      assert.equal(await store.session('ses_1'), CONVERSATION[0].session);
      assert.equal(await store.messages('ses_1'), before);
      assert.is(await store.output('ses_1', 'prt_3'), 'the whole output');
    }),
  );

  check('takes commits that are asked for at once one after another, and lets one fail alone', () =>
    withStore(async (store) => {
      const outcomes = await Promise.allSettled([
        store.commit([CONVERSATION[0]], [reported('first')]),
        store.commit(
          [{ kind: 'session', session: sessionOf('ses_2') }, orphans['a part of no message']],
          [reported('lost')],
        ),
        store.commit([CONVERSATION[1]], [reported('second'), reported('third')]),
      ]);
      assert.equal(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'rejected', 'fulfilled'],
      );
      assert.equal(await store.sessions({}), [CONVERSATION[0].session]);
      assert.equal(infoIDs(await store.messages('ses_1')), ['msg_1']);
      const events = await store.events({ afterID: '', limit: 10 });
      assert.equal(
        events.map(({ event }) => event.type === 'message.part.delta' && event.properties.delta),
        ['first', 'second', 'third'],
      );
      assert.equal(
        outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? outcome.value : [])),
        events,
      );
    }),
  );

  check('never shows half of a commit, however reads and commits meet', () =>
    withStore(async (store) => {
      await store.commit(CONVERSATION.slice(0, 2), []);
      const part = (id: string, text: string) => ({
        kind: 'part' as const,
        part: textPart({ id, messageID: 'msg_1', sessionID: 'ses_1' }, text),
      });
      const seen = await Promise.all(
        Array.from({ length: 40 }, async (_, number) => {
          const kept = store.commit([part('prt_1', String(number)), part('prt_2', String(number))], []);
          const early = await store.messages('ses_1');
          await kept;
          return [early, await store.messages('ses_1')];
        }),
      );
      const texts = seen
        .flat(2)
        .map(({ parts }) => parts.map((held) => (held.type === 'text' ? held.text : held.type)));
      assert.is(texts.length, 80);
      for (const [first, second] of texts) assert.is(first, second);
      assert.equal(texts.at(-1), ['39', '39']);
    }),
  );
};
