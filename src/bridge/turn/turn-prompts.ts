import { tokenIn, tokenOf } from '../agent/prompt-token.ts';
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

/** By what a turn knows its own prompt among those of other bridges. `isKept`: the agent keeps the token, so nothing without it is. */
export type OwnPrompt = { readonly token: string; readonly isKept: boolean };

/** The newest prompt that is not known. The agent's own messages are none, and one with a user's text comes first. */
const findNewPrompt = (records: readonly MessageRecord[], knownMessageIDs: ReadonlySet<string>): string | undefined => {
  const prompts = promptIDsAfter(records, knownMessageIDs);
  const hasUserText = (id: string) => records.some(({ info, parts }) => info.id === id && parts.some(isUserText));
  return prompts.findLast(hasUserText) ?? prompts.at(-1);
};

/**
 * `knownMessageIDs`: earlier user messages, which the agent sends again when it changes something about them. `own`: undefined for a
 * turn that was begun elsewhere.
 */
export const createTurnPrompts = (knownMessageIDs: ReadonlySet<string>, own?: OwnPrompt): TurnPrompts => {
  let promptID: string | undefined;
  const prompts = new Set<string>();
  /** Prompts that bridges have sent: no other turn's, and none of the agent's own. */
  const ofBridges = new Set<string>();
  /** User messages from events, and whether a user has written text in them. */
  const seen = new Map<string, boolean>();

  const setPrompt = (messageID: string): void => {
    if (prompts.has(messageID)) return;
    promptID = messageID;
    prompts.add(messageID);
  };
  /** The parts of a message come after it, and before its answer. */
  const applyToken = (messageID: string, token: string | undefined): void => {
    if (token === undefined) return;
    ofBridges.add(messageID);
    if (own === undefined) return;
    const isOwn = token === own.token;
    if (promptID !== undefined && isOwn !== (promptID === messageID)) {
      prompts.delete(promptID);
      promptID = undefined;
    }
    if (isOwn) setPrompt(messageID);
  };
  const mayBeOwn = (messageID: string): boolean => own === undefined || !(own.isKept || ofBridges.has(messageID));
  return {
    promptID: () => promptID,
    has: (messageID) => prompts.has(messageID),
    setPrompt,
    applyMessage(messageID) {
      if (!seen.has(messageID)) seen.set(messageID, false);
      if (promptID === undefined && !knownMessageIDs.has(messageID) && mayBeOwn(messageID)) setPrompt(messageID);
    },
    applyPart(part) {
      const { messageID } = part;
      if (!seen.has(messageID) || knownMessageIDs.has(messageID)) return;
      applyToken(messageID, tokenOf(part));
      if (messageID === promptID || promptID === undefined) return;
      if (isUserText(part)) {
        seen.set(messageID, true);
        prompts.delete(messageID);
      } else if (isSynthetic(part) && seen.get(messageID) === false && !ofBridges.has(messageID))
        prompts.add(messageID);
    },
    applySnapshot(records) {
      for (const record of records)
        if (!knownMessageIDs.has(record.info.id)) applyToken(record.info.id, tokenIn(record));
      const candidates = records.filter(({ info }) => info.role !== 'user' || mayBeOwn(info.id));
      const found = promptID === undefined ? findNewPrompt(candidates, knownMessageIDs) : undefined;
      if (found !== undefined) setPrompt(found);
      const position = records.findIndex(({ info }) => info.id === promptID);
      if (position === -1) return;
      for (const { info, parts } of records.slice(position + 1)) {
        const isOfAgent = parts.some(isSynthetic) && !parts.some(isUserText) && !ofBridges.has(info.id);
        if (info.role === 'user' && isOfAgent) prompts.add(info.id);
      }
    },
  };
};
