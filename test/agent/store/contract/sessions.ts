import * as assert from 'uvu/assert';
import type { Session } from '../../../../src/agent/protocol/types.ts';
import { OrphanError, StaleSessionError } from '../../../../src/agent/store/errors.ts';
import { type Check, rejection } from '../../../check.ts';
import { reported, sessionOf } from '../samples.ts';
import { CONVERSATION, infoIDs, type StorePlaces } from './places.ts';

const titlesOf = (sessions: readonly { readonly title: string }[]): string[] => sessions.map(({ title }) => title);

/** What every store promises about lists of sessions, and sessions that are only begun. */
export const checkSessions = (check: Check, { withStore }: StorePlaces): void => {
  check('lists sessions with the latest updated first, and those of one time by their ids', () =>
    withStore(async (store) => {
      const at = (id: string, updated: number) =>
        sessionOf(id, { title: id, parentID: 'ses_0', time: { created: 1, updated } });
      const sessions = [at('ses_c', 20), at('ses_a', 10), at('ses_b', 20), at('ses_d', 30)];
      await store.commit(
        sessions.map((session) => ({ kind: 'session', session })),
        [],
      );
      assert.equal(titlesOf(await store.sessions({})), ['ses_d', 'ses_b', 'ses_c', 'ses_a']);
      assert.equal(titlesOf(await store.sessions({ parentID: 'ses_0' })), ['ses_d', 'ses_b', 'ses_c', 'ses_a']);
      assert.equal(titlesOf(await store.sessions({ limit: 2 })), ['ses_d', 'ses_b']);
      assert.equal(titlesOf(await store.sessions({ updatedSince: 20 })), ['ses_d', 'ses_b', 'ses_c']);
      const after = { updatedMs: 20, id: 'ses_b' };
      assert.equal(titlesOf(await store.sessions({ after })), ['ses_c', 'ses_a']);
      assert.equal(titlesOf(await store.sessions({ after, limit: 1 })), ['ses_c']);
      await store.commit([{ kind: 'session', session: at('ses_a', 40) }], []);
      assert.equal(titlesOf(await store.sessions({ limit: 1 })), ['ses_a']);
      // What changes while somebody reads page by page moves up, and shifts no page.
      await store.commit([{ kind: 'session', session: at('ses_b', 50) }], []);
      assert.equal(titlesOf(await store.sessions({ after })), ['ses_c']);
    }),
  );

  check('finds many sessions by their ids in one read, each once, and none that is only begun', () =>
    withStore(async (store) => {
      const begun = { kind: 'session-begun', session: sessionOf('ses_c') } as const;
      const [a, b] = [sessionOf('ses_a'), sessionOf('ses_b')];
      await store.commit([...[a, b].map((session) => ({ kind: 'session', session }) as const), begun], []);
      const found = await store.sessionsByID(['ses_b', 'ses_x', 'ses_a', 'ses_c', 'ses_b', 'a\0', '\ud800', '"']);
      assert.equal(
        found.toSorted((left, right) => (left.id < right.id ? -1 : 1)),
        [a, b],
      );
      assert.equal(await store.sessionsByID([]), []);
    }),
  );

  check('finds the sessions that wait for results of client tools, and no others', () =>
    withStore(async (store) => {
      const awaitedCalls = { messageID: 'msg_2', callIDs: ['aaaaaaaaa'], expiresAt: 7 };
      const waiting = sessionOf('ses_a', { awaitedCalls });
      const looksLike = sessionOf('ses_b', { metadata: { awaitedCalls: { callIDs: [] } } });
      const begun = { kind: 'session-begun', session: sessionOf('ses_c', { awaitedCalls }) } as const;
      const sessions = [waiting, looksLike].map((session) => ({ kind: 'session', session }) as const);
      await store.commit([CONVERSATION[0], ...sessions, begun], []);
      assert.equal(await store.awaitingSessions(), [waiting]);
      await store.commit([{ kind: 'session', session: sessionOf('ses_a'), before: waiting }], []);
      assert.equal(await store.awaitingSessions(), []);
    }),
  );

  check('outlines all sessions in the same order, with the time of their update', () =>
    withStore(async (store) => {
      const updated = 4_000_000_000_000;
      const child = sessionOf('ses_b', { parentID: 'ses_a', time: { created: 1, updated } });
      const hidden = { kind: 'session-begun', session: sessionOf('ses_c') } as const;
      await store.commit([CONVERSATION[0], { kind: 'session', session: child }, hidden], []);
      assert.equal(await store.sessionOutlines(), [
        { id: 'ses_b', parentID: 'ses_a', updatedMs: updated },
        { id: 'ses_1', updatedMs: CONVERSATION[0].session.time.updated },
      ]);
    }),
  );

  check('removes sessions together, and none when one of them has changed', () =>
    withStore(async (store) => {
      const [root, child] = [sessionOf('ses_a'), sessionOf('ses_b', { parentID: 'ses_a' })];
      await store.commit(
        [...CONVERSATION, ...[root, child].map((session) => ({ kind: 'session', session }) as const)],
        [],
      );
      const removal = (session: Session) =>
        [
          { kind: 'session', session, before: session },
          { kind: 'session-removed', sessionID: session.id },
        ] as const;
      const draft = { type: 'session.deleted', properties: { sessionID: 'ses_a', info: root } } as const;
      const commit = () => store.commit([child, root].flatMap(removal), [{ directory: '/', draft }]);
      const changed = { ...root, title: 'another' };
      await store.commit([{ kind: 'session', session: changed, before: root }], []);
      assert.instance(await rejection(commit()), StaleSessionError);
      assert.is((await store.sessions({})).length, 3);
      assert.equal(await store.events({ afterID: '', limit: 9 }), []);
      await store.commit([{ kind: 'session', session: root, before: changed }], []);
      assert.is((await commit()).length, 1);
      assert.equal(titlesOf(await store.sessions({})), [CONVERSATION[0].session.title]);
      assert.instance(await rejection(commit()), StaleSessionError);
      assert.is((await store.events({ afterID: '', limit: 9 })).length, 1);
    }),
  );

  check('finds sessions by directory, parent and root', () =>
    withStore(async (store) => {
      const root = sessionOf('ses_a', { directory: '/one' });
      const child = sessionOf('ses_b', { directory: '/one', parentID: 'ses_a' });
      const other = sessionOf('ses_c', { directory: '/two' });
      await store.commit(
        [root, child, other].map((session) => ({ kind: 'session', session })),
        [],
      );
      assert.equal(await store.sessions({ directory: '/one' }), [root, child]);
      assert.equal(await store.sessions({ directory: '/ONE' }), []);
      assert.equal(await store.sessions({ parentID: 'ses_a' }), [child]);
      assert.equal(await store.sessions({ areRoots: true }), [root, other]);
      assert.equal(await store.sessions({ areRoots: false }), [root, child, other]);
      assert.equal(await store.sessions({ areRoots: true, directory: '/two' }), [other]);
    }),
  );

  const searches: readonly (readonly [title: string, search: string, isFound: boolean])[] = [
    ['Fix the parser', 'PARSER', true],
    ['Fix the parser', 'lexer', false],
    ['anything', '', true],
    ['100% done', '0% d', true],
    ['100 done', '100%', false],
    ['a_b', 'A_B', true],
    ['axb', 'a_b', false],
    ['a\\b', 'a\\', true],
    ['a*b', 'a?b', false],
    ["it's", "T'S", true],
    ['ÜBER DEN WOLKEN', 'über', true],
    ['ОШИБКА', 'ошибка', true],
    ['ΟΔΟΣΑ', 'οδος', true],
    ['Straße', 'STRASSE', true],
    ['300 \u212a', '300 k', true],
    ['会话 标题', '标题', true],
    ['a 😀 b', '😀', true],
    ['a 😀 b', '😁', false],
    ['zero\0inside', 'INSIDE', true],
  ];

  for (const [title, search, isFound] of searches) {
    const does = isFound ? 'finds' : 'does not find';
    check(`${does} ${JSON.stringify(title)} by ${JSON.stringify(search)}`, () =>
      withStore(async (store) => {
        await store.commit([{ kind: 'session', session: sessionOf('ses_1', { title }) }], []);
        assert.equal(titlesOf(await store.sessions({ search })), isFound ? [title] : []);
      }),
    );
  }

  check('finds a session by what it is called now', () =>
    withStore(async (store) => {
      const called = (title: string) => ({ kind: 'session' as const, session: sessionOf('ses_1', { title }) });
      await store.commit([called('before')], []);
      await store.commit([called('after')], []);
      assert.equal(await store.sessions({ search: 'before' }), []);
      assert.equal(titlesOf(await store.sessions({ search: 'AFTER' })), ['after']);
    }),
  );

  check('shows a session that is only begun to no one, until it is kept', () =>
    withStore(async (store) => {
      const session = sessionOf('ses_1', { parentID: 'ses_0' });
      await store.commit([{ kind: 'session-begun', session }, ...CONVERSATION.slice(1)], []);
      assert.is(await store.session('ses_1'), undefined);
      assert.equal(await store.sessions({}), []);
      assert.equal(await store.sessions({ parentID: 'ses_0' }), []);
      assert.equal(await store.unfinished(), []);
      await store.commit([{ kind: 'session', session }], []);
      assert.equal(await store.sessions({ parentID: 'ses_0' }), [session]);
      assert.equal(infoIDs(await store.unfinished()), ['msg_2']);
      assert.equal(infoIDs(await store.messages('ses_1')), ['msg_1', 'msg_2']);
      assert.is(await store.output('ses_1', 'prt_3'), 'the whole output');
    }),
  );

  check('begins a session anew without what was begun before, and none whose id is taken', () =>
    withStore(async (store) => {
      const begun = { kind: 'session-begun', session: sessionOf('ses_1') } as const;
      await store.commit([begun, ...CONVERSATION.slice(1)], []);
      await store.commit([begun], []);
      assert.equal(await store.messages('ses_1'), []);
      await store.commit(CONVERSATION, []);
      const error = await rejection(store.commit([begun], []));
      assert.ok(error instanceof OrphanError && error.kind === 'session');
      assert.is((await store.messages('ses_1')).length, 2);
    }),
  );

  check('keeps a session that was read before only while it is as it was read, and nothing else of that commit', () =>
    withStore(async (store) => {
      const [first, second] = [sessionOf('ses_1'), sessionOf('ses_1', { title: 'second' })];
      const third = sessionOf('ses_1', { title: 'third' });
      await store.commit([{ kind: 'session', session: first }], []);
      await store.commit([{ kind: 'session', session: second, before: first }], [reported('second')]);
      const late = { kind: 'session', session: third, before: first } as const;
      assert.instance(await rejection(store.commit([CONVERSATION[1], late], [reported('never')])), StaleSessionError);
      assert.equal(await store.session('ses_1'), second);
      assert.equal(await store.messages('ses_1'), []);
      assert.is((await store.events({ afterID: '', limit: 10 })).length, 1);
      await store.commit([{ kind: 'session-removed', sessionID: 'ses_1' }], []);
      const gone = { kind: 'session', session: third, before: second } as const;
      assert.instance(await rejection(store.commit([gone], [])), StaleSessionError);
      await store.commit([{ kind: 'session-begun', session: second }], []);
      assert.instance(await rejection(store.commit([gone], [])), StaleSessionError);
    }),
  );
};
