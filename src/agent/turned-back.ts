import type { Message } from './message.ts';
import type { Revert } from './session.ts';
import type { Told } from './store/store.ts';

/** The prompt that a message is or answers. */
const promptOf = (info: Message): string => (info.role === 'user' ? info.id : info.parentID);

/**
 * The messages that stand before one of them: in the order of the prompts, each with its answers, as a model is told of
 * them. A prompt that waited stands in front of answers that were begun before it, and is not before them.
 */
export const saidBefore = (messages: readonly Told[], messageID: string): readonly Told[] => {
  const places = new Map(messages.map(({ info }, place) => [info.id, place]));
  const end = messages.find(({ info }) => info.id === messageID)?.info;
  if (end === undefined) return messages;
  const placeOf = (info: Message): number => places.get(promptOf(info)) ?? places.get(info.id) ?? 0;
  const isBefore = (info: Message): boolean =>
    placeOf(info) === placeOf(end)
      ? (places.get(info.id) ?? 0) < (places.get(end.id) ?? 0)
      : placeOf(info) < placeOf(end);
  return messages.filter(({ info }) => isBefore(info));
};

const SAYING = ['text', 'tool'];

/**
 * Where a session is turned back to when somebody points at a message, or at a part of it: a prompt goes as a whole, and of
 * an answer what stands before the part stays, if that says anything. Nothing when there is no such message or part.
 */
export const revertTo = (messages: readonly Told[], { messageID, partID }: Revert): Revert | undefined => {
  const told = messages.find(({ info }) => info.id === messageID);
  if (told === undefined) return undefined;
  const place = partID === undefined ? 0 : told.parts.findIndex(({ id }) => id === partID);
  if (place < 0) return undefined;
  if (partID !== undefined && told.parts.slice(0, place).some(({ type }) => SAYING.includes(type)))
    return { messageID, partID };
  const promptID = promptOf(told.info);
  return { messageID: messages.some(({ info }) => info.id === promptID) ? promptID : messageID };
};

/** What goes when a session goes on from where it was turned back to. */
export type Dropped = {
  readonly messageIDs: readonly string[];
  /** Of the message that is cut, if one is. */
  readonly parts: readonly { readonly messageID: string; readonly id: string }[];
};

/** What is said from there on. Nothing when the message is gone. */
export const droppedBy = (messages: readonly Told[], { messageID, partID }: Revert): Dropped => {
  const cut = messages.find(({ info }) => info.id === messageID);
  if (cut === undefined) return { messageIDs: [], parts: [] };
  const kept = new Set(saidBefore(messages, messageID));
  const place = cut.parts.findIndex(({ id }) => id === partID);
  const parts = place < 0 ? [] : cut.parts.slice(place);
  const gone = messages.filter((told) => !kept.has(told) && (partID === undefined || told !== cut));
  return { messageIDs: gone.map(({ info }) => info.id), parts };
};
