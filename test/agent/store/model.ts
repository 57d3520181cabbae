import type { Message, Part, Session } from '../../../src/agent/protocol/types.ts';
import type { MessageWithParts, OwedAnswer, SessionQuery, StoreChange } from '../../../src/agent/store/store.ts';

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
    // A contract of their own.
    case 'conversation':
    case 'conversation-removed':
    case 'turn':
    case 'turn-removed':
    case 'chain':
      return model;
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
