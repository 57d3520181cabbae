import { Fault } from '../../core/fault.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import type { EventDraft } from '../protocol/events.ts';
import type { Message, Revert, Session } from '../protocol/types.ts';
import type { Store } from '../store/store.ts';
import { awaitedCallsEnd, CALL_NOT_AWAITED, withoutAwaitedCalls } from './awaited-calls.ts';
import { type MessageShape, readMessageShapes } from './message-shapes.ts';
import { notFound, type SessionParts } from './sessions.ts';

/** The id of the prompt that a message is or answers. */
export const promptIDOf = (info: Message): string => (info.role === 'user' ? info.id : info.parentID);

/**
 * The messages before one of them in the order in which a model receives them: prompt by prompt, each with its answers. A
 * prompt that waited may have a lower id than answers to the prompt before it, and still comes after them.
 */
export const messagesBefore = <One extends Pick<MessageShape, 'info'>>(
  messages: readonly One[],
  messageID: string,
): readonly One[] => {
  const places = new Map(messages.map(({ info }, place) => [info.id, place]));
  const end = messages.find(({ info }) => info.id === messageID)?.info;
  if (end === undefined) return messages;
  const placeOf = (info: Message): number => places.get(promptIDOf(info)) ?? places.get(info.id) ?? 0;
  const isBefore = (info: Message): boolean =>
    placeOf(info) === placeOf(end)
      ? (places.get(info.id) ?? 0) < (places.get(end.id) ?? 0)
      : placeOf(info) < placeOf(end);
  return messages.filter(({ info }) => isBefore(info));
};

const CONTENT_PARTS = ['text', 'tool'];

/**
 * The point to which a session is reverted for a message, or a part of it: a prompt is reverted as a whole, and of an answer
 * the parts before the given one stay, if a text or a call is among them. Undefined when there is no such message or part.
 */
export const resolveRevert = (messages: readonly MessageShape[], { messageID, partID }: Revert): Revert | undefined => {
  const message = messages.find(({ info }) => info.id === messageID);
  if (message === undefined) return undefined;
  const place = partID === undefined ? 0 : message.parts.findIndex(({ id }) => id === partID);
  if (place < 0) return undefined;
  if (partID !== undefined && message.parts.slice(0, place).some(({ type }) => CONTENT_PARTS.includes(type)))
    return { messageID, partID };
  const promptID = promptIDOf(message.info);
  return { messageID: messages.some(({ info }) => info.id === promptID) ? promptID : messageID };
};

/** What is removed with the next prompt of a session that was reverted. */
type RevertedContent = {
  readonly messageIDs: readonly string[];
  /** Parts of the one message that stays without them, if there is one. */
  readonly parts: readonly { readonly messageID: string; readonly id: string }[];
};

/** The messages and parts from a revert point on. Empty when its message does not exist any more. */
export const findRevertedContent = (
  messages: readonly MessageShape[],
  { messageID, partID }: Revert,
): RevertedContent => {
  const cut = messages.find(({ info }) => info.id === messageID);
  if (cut === undefined) return { messageIDs: [], parts: [] };
  const remaining = new Set(messagesBefore(messages, messageID));
  const place = cut.parts.findIndex(({ id }) => id === partID);
  const parts = place < 0 ? [] : cut.parts.slice(place);
  const gone = messages.filter((message) => !remaining.has(message) && (partID === undefined || message !== cut));
  return { messageIDs: gone.map(({ info }) => info.id), parts };
};

/**
 * Changes a session, and with it its stored messages, while no answer is under way; a `conflict` fault otherwise. What begins
 * or changes meanwhile, here or at another server, has changed the session too: then `change` runs again.
 */
export const updateWhileIdle = (
  { store, sessions, runs }: SessionParts,
  sessionID: string,
  change: (session: Session) => Session | Promise<Session>,
  within?: (changed: Publication) => Publication,
): Promise<Session> =>
  sessions.update(
    sessionID,
    async (session) => {
      // Owed: a prompt that is stored, and that no server has begun to run.
      if (Object.hasOwn(await runs.statuses(), sessionID) || (await store.owed(sessionID)).length > 0) {
        const message = `session "${sessionID}" is busy. Abort it first, or wait until it is idle`;
        throw new Fault({ kind: 'conflict', message });
      }
      return change(session);
    },
    within,
  );

/**
 * As `updateWhileIdle`, for a change that removes messages or parts, or hides them: calls whose results are waited for end
 * with it. `change` says what else is stored.
 */
const rewindWhileIdle = (
  needs: SessionParts,
  sessionID: string,
  change: (session: Session) => Promise<{ readonly session: Session; readonly with?: Publication }>,
): Promise<Session> => {
  let also: Publication = {};
  const end = async (before: Session): Promise<Session> => {
    const { session, with: more = {} } = await change(before);
    const ended = { why: CALL_NOT_AWAITED.reverted, now: needs.clock.now() };
    also = joinPublications(await awaitedCallsEnd(needs.store, before, ended), more);
    return withoutAwaitedCalls(session);
  };
  return updateWhileIdle(needs, sessionID, end, (changed) => joinPublications(changed, also));
};

/** Reverts a session to a message, until the next prompt or until `unrevertSession`. Nothing is removed yet. */
export const revertSession = (needs: SessionParts, sessionID: string, target: Revert): Promise<Session> =>
  rewindWhileIdle(needs, sessionID, async (session) => {
    const revert = resolveRevert(await readMessageShapes(needs.store, sessionID), target);
    if (revert !== undefined) return { session: { ...session, revert } };
    const { messageID, partID } = target;
    throw partID === undefined ? notFound('message', messageID) : notFound('part', partID);
  });

/** The session without its revert point. */
export const withoutRevert = ({ revert: _, ...session }: Session): Session => session;

/** Takes a revert back. A session that was not reverted stays as it is. */
export const unrevertSession = async (needs: SessionParts, sessionID: string): Promise<Session> => {
  const session = await needs.sessions.get(sessionID);
  return session.revert === undefined ? session : updateWhileIdle(needs, sessionID, withoutRevert);
};

/** The revert point once `removed` is removed: if that is the point, the next of what it hides, undefined where there is none. */
export const revertWithout = (
  messages: readonly MessageShape[],
  revert: Revert,
  { messageID, partID }: Revert,
): Revert | undefined => {
  if (messageID !== revert.messageID || (partID !== undefined && partID !== revert.partID)) return revert;
  const { messageIDs, parts } = findRevertedContent(messages, revert);
  // Without a further part, what comes after the message stays hidden.
  if (partID !== undefined) return { messageID, partID: parts[1]?.id ?? partID };
  const remaining = messages.filter(({ info }) => info.id !== messageID);
  const hidden = remaining.filter(({ info }) => messageIDs.includes(info.id));
  const isFirst = ({ info }: MessageShape): boolean =>
    !messagesBefore(remaining, info.id).some((one) => hidden.includes(one));
  const first = hidden.find(isFirst);
  return first === undefined ? undefined : { messageID: first.info.id };
};

/** Removes a message or a part while the session is idle. `removal` says how; what is hidden by a revert stays hidden. */
export const removeWhileIdle = (
  needs: SessionParts,
  sessionID: string,
  removed: Revert,
  removal: () => Promise<Publication>,
): Promise<Session> =>
  rewindWhileIdle(needs, sessionID, async (session) => {
    const more = await removal();
    if (session.revert === undefined) return { session, with: more };
    const revert = revertWithout(await readMessageShapes(needs.store, sessionID), session.revert, removed);
    return { session: { ...withoutRevert(session), ...(revert === undefined ? {} : { revert }) }, with: more };
  });

/** Removes messages, and sends that they were removed. */
export const messagesRemoval = (sessionID: string, messageIDs: readonly string[]): Publication =>
  messageIDs.length === 0
    ? {}
    : {
        changes: [{ kind: 'messages-removed', sessionID, messageIDs }],
        drafts: messageIDs.map((messageID): EventDraft => {
          return { type: 'message.removed', properties: { sessionID, messageID } };
        }),
      };

/** Removes parts of messages, and sends that they were removed. */
export const partsRemoval = (
  sessionID: string,
  parts: readonly { readonly messageID: string; readonly id: string }[],
): Publication =>
  parts.length === 0
    ? {}
    : {
        changes: [{ kind: 'parts-removed', sessionID, partIDs: parts.map(({ id }) => id) }],
        drafts: parts.map(({ messageID, id }): EventDraft => {
          return { type: 'message.part.removed', properties: { sessionID, messageID, partID: id } };
        }),
      };

/** Removes what comes after the revert point of a session. Empty where it has none. */
export const revertedRemoval = async (
  store: Pick<Store, 'messages' | 'messageOutlines'>,
  { id, revert }: Session,
): Promise<Publication> => {
  if (revert === undefined) return {};
  const { messageIDs, parts } = findRevertedContent(await readMessageShapes(store, id), revert);
  return joinPublications(messagesRemoval(id, messageIDs), partsRemoval(id, parts));
};
