import fc from 'fast-check';
import * as assert from 'uvu/assert';
import { type EventDraft, sessionIDOf } from '../../../src/agent/protocol/events.ts';
import { type Ids, isId } from '../../../src/agent/protocol/ids.ts';
import type { PermissionDecision } from '../../../src/agent/protocol/permissions.ts';
import type { Session } from '../../../src/agent/protocol/types.ts';
import { OrphanError, StaleSessionError } from '../../../src/agent/store/errors.ts';

import type { DirectoryEvent, OwedAnswer, Store } from '../../../src/agent/store/store.ts';
import { type Check, rejection } from '../../check.ts';
import {
  afterAll,
  anyCommit,
  anySessionsAsked,
  EMPTY,
  MESSAGES,
  type Model,
  messagesIn,
  owedIn,
  PARTS,
  SESSIONS,
  sessionsIn,
  unfinishedIn,
} from './model.ts';
import { answer, deltaOf, idsFrom, reported, sessionOf, textPart, toolPart, userMessage } from './samples.ts';

/** A place for one store. Opening it again, after the store was closed, finds what was kept, if the store is a lasting one. */
type StorePlace = { readonly open: (ids: Ids) => Promise<Store>; readonly clear: () => Promise<void> };
type StoreKind = {
  /** How often random commits are compared with a plain list. */
  readonly randomRuns?: number;
  readonly createPlace: () => Promise<StorePlace>;
  readonly isLasting: boolean;
};

const MEGABYTE = 1024 * 1024;
const HOUR_MS = 3_600_000;

const idsOf = (events: readonly DirectoryEvent[]): string[] => events.map(({ event }) => event.id);
const ascend = (ids: readonly string[]): boolean =>
  ids.every((id, index) => index === 0 || (ids[index - 1] ?? '') < id);
const titlesOf = (sessions: readonly { readonly title: string }[]): string[] => sessions.map(({ title }) => title);
const infoIDs = (messages: readonly { readonly info: { readonly id: string } }[]): string[] =>
  messages.map(({ info }) => info.id);

/** A conversation in one session: a question, and an answer of two parts of which one has a long output. */
const CONVERSATION = [
  { kind: 'session', session: sessionOf('ses_1') },
  { kind: 'message', message: userMessage('msg_1', 'ses_1') },
  { kind: 'part', part: textPart({ id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1' }, 'a question') },
  { kind: 'message', message: answer('msg_2', 'ses_1') },
  { kind: 'part', part: toolPart({ id: 'prt_3', messageID: 'msg_2', sessionID: 'ses_1' }) },
  { kind: 'part', part: textPart({ id: 'prt_2', messageID: 'msg_2', sessionID: 'ses_1' }, 'an answer') },
  { kind: 'output', sessionID: 'ses_1', partID: 'prt_3', text: 'the whole output' },
] as const;

const decisionOf = (id: string, reply: PermissionDecision['reply']): PermissionDecision => ({
  id,
  sessionID: 'ses_1',
  permission: 'pay',
  patterns: ['a\0 \ud800'],
  reply,
  by: 'ana',
  at: 5,
});

const outlineOf = ({ id, parentID, time }: Session) => ({
  id,
  ...(parentID === undefined ? {} : { parentID }),
  updatedMs: time.updated,
});
const byPrompt = (owed: readonly OwedAnswer[]): OwedAnswer[] =>
  [...owed].sort((left, right) => (left.promptID < right.promptID ? -1 : 1));
const heldBy = async (store: Store) => ({
  sessions: await store.sessions({}),
  outlines: await store.sessionOutlines(),
  messages: await Promise.all(SESSIONS.map((id) => store.messages(id))),
  outputs: await Promise.all(SESSIONS.flatMap((id) => PARTS.map((partID) => store.output(id, partID)))),
  unfinished: await store.unfinished(),
  owed: [await store.owed(), ...(await Promise.all(SESSIONS.map((id) => store.owed(id))))].map(byPrompt),
});
const expectedOf = (model: Model) => ({
  sessions: sessionsIn(model, {}),
  outlines: sessionsIn(model, {}).map(outlineOf),
  messages: SESSIONS.map((id) => messagesIn(model, id)),
  outputs: SESSIONS.flatMap((id) =>
    PARTS.map((partID) => model.outputs.find((held) => held.sessionID === id && held.partID === partID)?.text),
  ),
  unfinished: unfinishedIn(model),
  owed: [owedIn(model), ...SESSIONS.map((id) => owedIn(model, id))].map(byPrompt),
});

/** What every store promises, whatever it keeps things in. */
export const checkStore = (check: Check, { createPlace, isLasting, randomRuns = 60 }: StoreKind): void => {
  const withPlace = async (body: (place: StorePlace) => Promise<void>): Promise<void> => {
    const place = await createPlace();
    try {
      await body(place);
    } finally {
      await place.clear();
    }
  };
  const withStore = (body: (store: Store) => Promise<void>): Promise<void> =>
    withPlace(async ({ open }) => {
      const store = await open(idsFrom());
      try {
        await body(store);
      } finally {
        await store.close();
      }
    });

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
        properties: { id, sessionID, permission: 'pay', patterns: ['*'], metadata: {}, always: ['*'] },
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

  check('keeps every text as it is: any script, emoji, halves of pairs, control characters', () =>
    withStore(async (store) => {
      const text = '汉字 العربية 👩‍👩‍👧 é e\u0301 \ud83d \ude00 \0 \u2028 \\u0000 "\'`%_ \ufeff\uffff';
      const directory = `/${text}`;
      const place = { id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1' };
      const session = sessionOf('ses_1', { title: text, directory, metadata: { [text]: text } });
      await store.commit(
        [
          { kind: 'session', session },
          { kind: 'message', message: userMessage('msg_1', 'ses_1') },
          { kind: 'part', part: textPart(place, text) },
          { kind: 'output', sessionID: 'ses_1', partID: 'prt_1', text },
        ],
        [reported(text, directory)],
      );
      assert.equal(await store.sessions({ directory }), [session]);
      assert.equal(await store.sessions({ search: text }), [session]);
      assert.equal(await store.sessions({ directory: directory.toWellFormed() }), []);
      assert.equal((await store.message('ses_1', 'msg_1'))?.parts, [textPart(place, text)]);
      assert.is(await store.output('ses_1', 'prt_1'), text);
      const [placed] = await store.events({ afterID: '', directory, limit: 10 });
      assert.equal(placed, { directory, event: { ...deltaOf('ses_1', text), id: placed?.event.id ?? '' } });
      assert.is(await store.session('ses_1\0'), undefined);
      assert.is(await store.session('\ud800'), undefined);
    }),
  );

  check('keeps texts of a megabyte', () =>
    withStore(async (store) => {
      const text = 'é😀x'.repeat(MEGABYTE / 4);
      const place = { id: 'prt_1', messageID: 'msg_1', sessionID: 'ses_1' };
      await store.commit(
        [...CONVERSATION.slice(0, 2), { kind: 'part', part: textPart(place, text) }],
        [reported(text)],
      );
      await store.commit([{ kind: 'output', sessionID: 'ses_1', partID: 'prt_1', text }], []);
      assert.ok((await store.messages('ses_1'))[0]?.parts.some((part) => part.type === 'text' && part.text === text));
      assert.ok((await store.output('ses_1', 'prt_1')) === text);
      const [placed] = await store.events({ afterID: '', limit: 1 });
      assert.ok(placed?.event.type === 'message.part.delta' && placed.event.properties.delta === text);
    }),
  );

  check('is what a plain list of things would be, whatever is committed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(anyCommit, { minLength: 1, maxLength: 4 }), { maxLength: 12 }),
        fc.array(anySessionsAsked, { minLength: 5, maxLength: 5 }),
        fc.record(
          { limit: fc.nat(4), beforeID: fc.constantFrom(...MESSAGES), fromID: fc.constantFrom(...MESSAGES) },
          { requiredKeys: [] },
        ),
        async (groups, questions, paging) =>
          withStore(async (store) => {
            let model = EMPTY;
            let events: DirectoryEvent[] = [];
            for (const group of groups) {
              const outcomes = await Promise.allSettled(
                group.map(({ changes, events: drafts }) => store.commit(changes, drafts)),
              );
              for (const [index, { changes, events: drafts }] of group.entries()) {
                const next = afterAll(model, changes);
                const outcome = outcomes[index];
                assert.is(outcome?.status, next === undefined ? 'rejected' : 'fulfilled');
                model = next ?? model;
                if (outcome?.status !== 'fulfilled') continue;
                const gone = changes.flatMap((change) => (change.kind === 'session-removed' ? change.sessionID : []));
                events = events.filter(({ event }) => !gone.includes(sessionIDOf(event) ?? ''));
                events.push(...outcome.value);
                const withoutIDs = outcome.value.map(({ directory, event: { id, ...draft } }) => ({
                  directory,
                  draft,
                }));
                assert.equal(withoutIDs, drafts);
              }
              assert.equal(await heldBy(store), expectedOf(model));
            }
            assert.ok(ascend(idsOf(events)));
            assert.equal(await store.events({ afterID: '', limit: 1000 }), events);
            for (const asked of questions) assert.equal(await store.sessions(asked), sessionsIn(model, asked));
            for (const id of SESSIONS) {
              const older = messagesIn(model, id).filter(
                ({ info }) => info.id < (paging.beforeID ?? '~') && info.id >= (paging.fromID ?? ''),
              );
              const newest = paging.limit === undefined ? older : older.slice(Math.max(0, older.length - paging.limit));
              assert.equal(await store.messages(id, paging), newest);
              const outlines = await store.messageOutlines(id, paging);
              assert.equal(
                outlines.map((sized) => sized.id),
                infoIDs(newest),
              );
              assert.equal(
                await store.messageHeads(id, paging),
                newest.map(({ info }, place) => ({ info, bytes: outlines[place]?.bytes })),
              );
            }
          }),
      ),
      { numRuns: randomRuns },
    );
  });

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
