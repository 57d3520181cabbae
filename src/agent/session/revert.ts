import { Fault } from '../../core/fault.ts';
import type { Publication } from '../events/publisher.ts';
import type { EventDraft } from '../protocol/events.ts';
import type { Message, Revert, Session } from '../protocol/types.ts';
import type { MessageWithParts, Store, StoreChange } from '../store/store.ts';
import type { RunQueue } from './run-queue.ts';
import { notFound, type Sessions } from './sessions.ts';

/** The prompt that a message is or answers. */
const promptIDOf = (info: Message): string => (info.role === 'user' ? info.id : info.parentID);

/**
 * The messages that stand before one of them: in the order of the prompts, each with its answers, as a model is told of
 * them. A prompt that waited stands in front of answers that were begun before it, and is not before them.
 */
export const messagesBefore = (
  messages: readonly MessageWithParts[],
  messageID: string,
): readonly MessageWithParts[] => {
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
 * Where a session is turned back to when somebody points at a message, or at a part of it: a prompt goes as a whole, and of
 * an answer what stands before the part stays, if that says anything. Nothing when there is no such message or part.
 */
export const resolveRevert = (
  messages: readonly MessageWithParts[],
  { messageID, partID }: Revert,
): Revert | undefined => {
  const told = messages.find(({ info }) => info.id === messageID);
  if (told === undefined) return undefined;
  const place = partID === undefined ? 0 : told.parts.findIndex(({ id }) => id === partID);
  if (place < 0) return undefined;
  if (partID !== undefined && told.parts.slice(0, place).some(({ type }) => CONTENT_PARTS.includes(type)))
    return { messageID, partID };
  const promptID = promptIDOf(told.info);
  return { messageID: messages.some(({ info }) => info.id === promptID) ? promptID : messageID };
};

/** What goes when a session goes on from where it was turned back to. */
export type RevertedContent = {
  readonly messageIDs: readonly string[];
  /** Of the message that is cut, if one is. */
  readonly parts: readonly { readonly messageID: string; readonly id: string }[];
};

/** What is said from there on. Nothing when the message is gone. */
export const findRevertedContent = (
  messages: readonly MessageWithParts[],
  { messageID, partID }: Revert,
): RevertedContent => {
  const cut = messages.find(({ info }) => info.id === messageID);
  if (cut === undefined) return { messageIDs: [], parts: [] };
  const kept = new Set(messagesBefore(messages, messageID));
  const place = cut.parts.findIndex(({ id }) => id === partID);
  const parts = place < 0 ? [] : cut.parts.slice(place);
  const gone = messages.filter((told) => !kept.has(told) && (partID === undefined || told !== cut));
  return { messageIDs: gone.map(({ info }) => info.id), parts };
};

export type RevertNeeds = {
  readonly store: Pick<Store, 'messages'>;
  readonly sessions: Pick<Sessions, 'get' | 'update'>;
  readonly runs: Pick<RunQueue, 'statuses'>;
};

/** Refuses what would change what is said in a session while an answer is under way there. */
export const requireIdle = async (runs: Pick<RunQueue, 'statuses'>, sessionID: string): Promise<void> => {
  if (!Object.hasOwn(await runs.statuses(), sessionID)) return;
  throw new Fault({
    kind: 'conflict',
    message: `session "${sessionID}" is busy. Abort it first, or wait until it is idle`,
  });
};

/** Turns a session back to a message, until the next prompt or until that is taken back. Nothing is removed yet. */
export const revertSession = async (
  { store, sessions, runs }: RevertNeeds,
  sessionID: string,
  asked: Revert,
): Promise<Session> => {
  await sessions.get(sessionID);
  await requireIdle(runs, sessionID);
  const revert = resolveRevert(await store.messages(sessionID), asked);
  if (revert === undefined) {
    const { messageID, partID } = asked;
    throw partID === undefined ? notFound('message', messageID) : notFound('part', partID);
  }
  return sessions.update(sessionID, (session) => ({ ...session, revert }));
};

/** The session as if it had never been turned back. */
export const withoutRevert = ({ revert: _, ...session }: Session): Session => session;

export const unrevertSession = async ({ sessions, runs }: RevertNeeds, sessionID: string): Promise<Session> => {
  const session = await sessions.get(sessionID);
  if (session.revert === undefined) return session;
  await requireIdle(runs, sessionID);
  return sessions.update(sessionID, withoutRevert);
};

/** Messages removed, kept so and told. */
export const messagesRemoval = (sessionID: string, messageIDs: readonly string[]): Publication =>
  messageIDs.length === 0
    ? {}
    : {
        changes: [{ kind: 'messages-removed', sessionID, messageIDs }],
        drafts: messageIDs.map((messageID): EventDraft => {
          return { type: 'message.removed', properties: { sessionID, messageID } };
        }),
      };

/** What was said from where a session was turned back to, removed. Nothing where it was not, or was meanwhile. */
export const revertedRemoval = async (
  store: Pick<Store, 'messages'>,
  { id, revert }: Session,
): Promise<Publication> => {
  if (revert === undefined) return {};
  const { messageIDs, parts } = findRevertedContent(await store.messages(id), revert);
  const messages = messagesRemoval(id, messageIDs);
  if (parts.length === 0) return messages;
  const cut: StoreChange = { kind: 'parts-removed', sessionID: id, partIDs: parts.map((part) => part.id) };
  const told = parts.map((part): EventDraft => {
    const properties = { sessionID: id, messageID: part.messageID, partID: part.id };
    return { type: 'message.part.removed', properties };
  });
  return { changes: [...(messages.changes ?? []), cut], drafts: [...(messages.drafts ?? []), ...told] };
};
