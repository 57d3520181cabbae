import type { MessageRecord, PartRecord } from '../agent/schema.ts';
import { promptIDsAfter } from '../conversation/transcript.ts';

/** The user messages that a turn answers: its prompt, and those that the agent adds itself to continue after a summary. */
type TurnPrompts = {
  readonly promptID: () => string | undefined;
  readonly has: (messageID: string) => boolean;
  /** A user message of an event. The first one that is not known from before is the prompt. */
  readonly applyMessage: (messageID: string) => void;
  /** A part of an event. Those of user messages show whether a user or the agent has written them. */
  readonly applyPart: (part: PartRecord) => void;
  /** Finds the prompt and what follows it in a snapshot. */
  readonly applySnapshot: (records: readonly MessageRecord[]) => void;
  /** The agent says which message its answer belongs to. */
  readonly setPrompt: (messageID: string) => void;
};

const isUserText = (part: PartRecord): boolean => part.type === 'text' && part.synthetic !== true;
const isSynthetic = (part: PartRecord): boolean => part.type === 'text' && part.synthetic === true;

/** The newest prompt that is not known. The agent's own messages are none, and one with a user's text comes first. */
const findNewPrompt = (records: readonly MessageRecord[], knownMessageIDs: ReadonlySet<string>): string | undefined => {
  const prompts = promptIDsAfter(records, knownMessageIDs);
  const hasUserText = (id: string) => records.some(({ info, parts }) => info.id === id && parts.some(isUserText));
  return prompts.findLast(hasUserText) ?? prompts.at(-1);
};

/** `knownMessageIDs`: earlier user messages, which the agent sends again when it changes something about them. */
export const createTurnPrompts = (knownMessageIDs: ReadonlySet<string>): TurnPrompts => {
  let promptID: string | undefined;
  const prompts = new Set<string>();
  /** User messages from events, and whether a user has written text in them. */
  const seen = new Map<string, boolean>();

  const setPrompt = (messageID: string): void => {
    if (prompts.has(messageID)) return;
    promptID = messageID;
    prompts.add(messageID);
  };
  return {
    promptID: () => promptID,
    has: (messageID) => prompts.has(messageID),
    setPrompt,
    applyMessage(messageID) {
      if (!seen.has(messageID)) seen.set(messageID, false);
      if (promptID === undefined && !knownMessageIDs.has(messageID)) setPrompt(messageID);
    },
    applyPart(part) {
      const { messageID } = part;
      if (!seen.has(messageID) || knownMessageIDs.has(messageID)) return;
      if (messageID === promptID || promptID === undefined) return;
      if (isUserText(part)) {
        seen.set(messageID, true);
        prompts.delete(messageID);
      } else if (isSynthetic(part) && seen.get(messageID) === false) prompts.add(messageID);
    },
    applySnapshot(records) {
      const found = promptID === undefined ? findNewPrompt(records, knownMessageIDs) : undefined;
      if (found !== undefined) setPrompt(found);
      const position = records.findIndex(({ info }) => info.id === promptID);
      if (position === -1) return;
      for (const { info, parts } of records.slice(position + 1)) {
        if (info.role === 'user' && parts.some(isSynthetic) && !parts.some(isUserText)) prompts.add(info.id);
      }
    },
  };
};
