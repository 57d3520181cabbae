import fc from 'fast-check';
import type { Message, Part, Session } from '../../../src/agent/protocol/types.ts';

import type { MessageWithParts, OwedAnswer, SessionQuery, StoreChange } from '../../../src/agent/store/store.ts';
import { codePoint } from '../../code-points.ts';
import { answer, reported, sessionOf, textPart, userMessage } from './samples.ts';

/** What a store must hold, in the plainest way there is. */
export type Model = {
  readonly sessions: readonly Session[];
  readonly messages: readonly Message[];
  readonly parts: readonly Part[];
  readonly outputs: readonly { readonly sessionID: string; readonly partID: string; readonly text: string }[];
  readonly owed: readonly OwedAnswer[];
  /** Ids of sessions that are only begun. */
  readonly begun: readonly string[];
};

export const EMPTY: Model = { begun: [], sessions: [], messages: [], parts: [], outputs: [], owed: [] };

const replaced = <Row extends { readonly id: string }>(rows: readonly Row[], row: Row): readonly Row[] => [
  ...rows.filter(({ id }) => id !== row.id),
  row,
];
const without = (model: Model, isGone: (message: Message) => boolean): Model => {
  const messages = model.messages.filter((message) => !isGone(message));
  const parts = model.parts.filter((part) => messages.some(({ id }) => id === part.messageID));
  const outputs = model.outputs.filter((output) => parts.some(({ id }) => id === output.partID));
  const owed = model.owed.filter(({ promptID }) => messages.some(({ id }) => id === promptID));
  return { ...model, messages, parts, outputs, owed };
};

/** Whether a session can be found, and is this one. */
const isStill = ({ sessions, begun }: Model, before: Session): boolean =>
  !begun.includes(before.id) && sessions.some((held) => JSON.stringify(held) === JSON.stringify(before));

const after = (model: Model, change: StoreChange): Model | undefined => {
  const { begun, sessions, messages, parts, outputs } = model;
  switch (change.kind) {
    case 'session':
      if (change.before !== undefined && !isStill(model, change.before)) return undefined;
      return {
        ...model,
        sessions: replaced(sessions, change.session),
        begun: begun.filter((id) => id !== change.session.id),
      };
    case 'session-begun': {
      const { session } = change;
      if (sessions.some(({ id }) => id === session.id) && !begun.includes(session.id)) return undefined;
      return {
        ...without(model, (message) => message.sessionID === session.id),
        sessions: replaced(sessions, session),
        begun: [...begun, session.id],
      };
    }
    case 'session-given-up':
      return begun.includes(change.sessionID) ? after(model, { ...change, kind: 'session-removed' }) : model;
    case 'session-removed':
      return {
        ...without(model, (message) => message.sessionID === change.sessionID),
        sessions: sessions.filter(({ id }) => id !== change.sessionID),
        begun: begun.filter((id) => id !== change.sessionID),
      };
    case 'message': {
      const { id, sessionID } = change.message;
      const isHome = sessions.some((session) => session.id === sessionID);
      const isTaken = messages.some((message) => message.id === id && message.sessionID !== sessionID);
      return isHome && !isTaken ? { ...model, messages: replaced(messages, change.message) } : undefined;
    }
    case 'messages-removed':
      return without(model, ({ id, sessionID }) => sessionID === change.sessionID && change.messageIDs.includes(id));
    case 'parts-removed': {
      const isGone = (part: Part) => part.sessionID === change.sessionID && change.partIDs.includes(part.id);
      const left = parts.filter((part) => !isGone(part));
      return { ...model, parts: left, outputs: outputs.filter(({ partID }) => left.some(({ id }) => id === partID)) };
    }
    case 'part': {
      const { id, messageID, sessionID } = change.part;
      const isHome = messages.some((message) => message.id === messageID && message.sessionID === sessionID);
      const isTaken = parts.some((part) => part.id === id && part.messageID !== messageID);
      return isHome && !isTaken ? { ...model, parts: replaced(parts, change.part) } : undefined;
    }
    case 'output': {
      const { sessionID, partID, text } = change;
      if (!parts.some((part) => part.id === partID && part.sessionID === sessionID)) return undefined;
      return {
        ...model,
        outputs: [...outputs.filter((output) => output.partID !== partID), { sessionID, partID, text }],
      };
    }
    case 'answer': {
      const { sessionID, promptID, state } = change;
      const isThere = messages.some(({ id, sessionID: home }) => id === promptID && home === sessionID);
      if (!isThere) return state === 'ended' ? model : undefined;
      const others = model.owed.filter((one) => one.promptID !== promptID);
      if (state === 'ended') return { ...model, owed: others };
      return { ...model, owed: [...others, { sessionID, promptID, isBegun: state === 'begun' }] };
    }
    default:
      return change satisfies never;
  }
};

/** What the model holds after all of the changes, or nothing when one of them must make the store refuse them all. */
export const afterAll = (model: Model, changes: readonly StoreChange[]): Model | undefined =>
  changes.reduce<Model | undefined>((held, change) => held && after(held, change), model);

const byID = <Row extends { readonly id: string }>(rows: readonly Row[]): Row[] =>
  [...rows].sort((left, right) => (left.id < right.id ? -1 : 1));
const withPartsOf = ({ parts }: Model, info: Message): MessageWithParts => ({
  info,
  parts: byID(parts.filter(({ messageID }) => messageID === info.id)),
});

export const messagesIn = (model: Model, sessionID: string): MessageWithParts[] =>
  byID(model.messages.filter((message) => message.sessionID === sessionID)).map((info) => withPartsOf(model, info));

export const unfinishedIn = (model: Model): MessageWithParts[] =>
  byID(model.messages.filter(({ role, time }) => role === 'assistant' && !('completed' in time)))
    .filter(({ sessionID }) => !model.begun.includes(sessionID))
    .map((info) => withPartsOf(model, info));

/** In any order: the contract has a check of its own for that. */
export const owedIn = (model: Model, sessionID?: string): readonly OwedAnswer[] =>
  model.owed.filter(
    (one) => !model.begun.includes(one.sessionID) && (sessionID === undefined || one.sessionID === sessionID),
  );

export const sessionsIn = (model: Model, asked: SessionQuery): Session[] =>
  byID(model.sessions)
    .sort((left, right) => right.time.updated - left.time.updated)
    .filter(({ id }) => !model.begun.includes(id))
    .filter(({ directory }) => asked.directory === undefined || directory === asked.directory)
    .filter(({ parentID }) => asked.parentID === undefined || parentID === asked.parentID)
    .filter(({ parentID }) => asked.areRoots !== true || parentID === undefined)
    .filter(({ title }) => title.toLowerCase().includes(asked.search?.toLowerCase() ?? ''))
    .filter(({ time }) => time.updated >= (asked.updatedSince ?? 0))
    .filter(({ id, time }) => {
      const { updatedMs, id: afterID } = asked.after ?? { updatedMs: Number.POSITIVE_INFINITY, id: '' };
      return time.updated < updatedMs || (time.updated === updatedMs && id > afterID);
    })
    .slice(0, asked.limit ?? Number.POSITIVE_INFINITY);

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
