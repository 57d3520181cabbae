import fc from 'fast-check';
import type { SessionQuery, StoreChange } from '../../../src/agent/store/store.ts';
import { codePoint } from '../../code-points.ts';
import { answer, reported, sessionOf, textPart, userMessage } from './samples.ts';

/** Ids that every commit is about, few enough to meet. */
export const SESSIONS = ['ses_a', 'ses_b', 'ses_c'];
export const MESSAGES = ['msg_a', 'msg_b', 'msg_c', 'msg_d'];
export const PARTS = ['prt_a', 'prt_b', 'prt_c', 'prt_d', 'prt_e'];
const DIRECTORIES = ['/one', '/two', '/two\0', '/\ud83d\ude00', '/\ud83d'];
const TITLES = ['Plan', 'plan b', '100%', '100_', 'a\\b'];
const SEARCHED = ['', 'PLAN', 'n B', '%', '_', '\\', '100%'];
const TIMES = [1000, 2000, 3000];
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> => fc.option(value, { nil: undefined });

/** Any JavaScript text: halves of surrogate pairs and control characters too. */
const anyText = fc.string({
  unit: fc.oneof(fc.string({ unit: codePoint }), fc.constantFrom('\ud800', '\udfff', '\0')),
});

const session = fc
  .record({
    id: fc.constantFrom(...SESSIONS),
    directory: fc.constantFrom(...DIRECTORIES),
    title: fc.constantFrom(...TITLES),
    parentID: optional(fc.constantFrom(...SESSIONS)),
    updated: fc.constantFrom(...TIMES),
    note: anyText,
  })
  .map(({ id, parentID, updated, note, ...more }) =>
    sessionOf(id, {
      ...more,
      ...(parentID === undefined ? {} : { parentID }),
      time: { created: 1, updated },
      metadata: { note },
    }),
  );

const place = { sessionID: fc.constantFrom(...SESSIONS), messageID: fc.constantFrom(...MESSAGES) };

const message = fc
  .record({ ...place, kind: fc.constantFrom('user', 'begun', 'completed') })
  .map(({ sessionID, messageID, kind }) => {
    if (kind === 'user') return userMessage(messageID, sessionID);
    return answer(messageID, sessionID, kind === 'begun' ? {} : { time: { created: 1, completed: 2 } });
  });

const partID = fc.constantFrom(...PARTS);

const change: fc.Arbitrary<StoreChange> = fc.oneof(
  { weight: 3, arbitrary: session.map((held) => ({ kind: 'session' as const, session: held })) },
  {
    weight: 2,
    arbitrary: fc.tuple(session, fc.constantFrom(...TITLES), fc.boolean()).map(([before, title, isOther]) => ({
      kind: 'session' as const,
      session: { ...before, title },
      before: isOther ? { ...before, slug: 'other' } : before,
    })),
  },
  { weight: 1, arbitrary: session.map((held) => ({ kind: 'session-begun' as const, session: held })) },
  { weight: 5, arbitrary: message.map((held) => ({ kind: 'message' as const, message: held })) },
  {
    weight: 6,
    arbitrary: fc
      .record({ ...place, id: partID, text: anyText, isGrowing: fc.boolean() })
      .map(({ text, isGrowing, ...where }) => ({ kind: 'part' as const, part: textPart(where, text), isGrowing })),
  },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('output' as const), sessionID: place.sessionID, partID, text: anyText }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('messages-removed' as const),
      sessionID: place.sessionID,
      messageIDs: fc.uniqueArray(place.messageID, { maxLength: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('parts-removed' as const),
      sessionID: place.sessionID,
      partIDs: fc.uniqueArray(partID, { maxLength: 3 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ ...place, state: fc.constantFrom('owed' as const, 'begun' as const, 'ended' as const) })
      .map(({ sessionID, messageID, state }) => ({ kind: 'answer' as const, sessionID, promptID: messageID, state })),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('session-removed' as const), sessionID: place.sessionID }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('session-given-up' as const), sessionID: place.sessionID }) },
);

/** One commit: mostly few changes, since a long one seldom has a home for everything in it. */
export const anyCommit = fc.record({
  changes: fc.array(change, { maxLength: 4 }),
  events: fc.array(
    fc
      .record({ text: anyText, directory: fc.constantFrom(...DIRECTORIES), sessionID: fc.constantFrom(...SESSIONS) })
      .map(({ text, directory, sessionID }) => reported(text, directory, sessionID)),
    { maxLength: 3 },
  ),
});

/** All filters may meet. What is not asked for is left out. */
export const anySessionsAsked: fc.Arbitrary<SessionQuery> = fc.record(
  {
    directory: fc.constantFrom(...DIRECTORIES),
    parentID: fc.constantFrom(...SESSIONS),
    areRoots: fc.boolean(),
    search: fc.constantFrom(...SEARCHED),
    updatedSince: fc.constantFrom(...TIMES),
    after: fc.record({ updatedMs: fc.constantFrom(...TIMES), id: fc.constantFrom(...SESSIONS, 'ses_b\0') }),
    limit: fc.constantFrom(0, 1, 2),
  },
  { requiredKeys: [] },
);
