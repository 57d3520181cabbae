import type { MessageRecord, PartRecord } from './agent/schema.ts';
import { promptsAfter } from './conversation/transcript.ts';

/** Which user messages a turn answers: its prompt, and what the agent puts in by itself to go on after a summary. */
export type TurnPrompts = {
  readonly promptID: () => string | undefined;
  readonly has: (messageID: string) => boolean;
  /** An event tells of a user message. The first that is not known from before is the prompt. */
  readonly hear: (messageID: string) => void;
  /** An event tells of a part. Those of user messages say who has written them. */
  readonly hearPart: (part: PartRecord) => void;
  /** Looks for the prompt, and for what follows it, in a list. */
  readonly see: (records: readonly MessageRecord[]) => void;
  /** The agent says what its answer answers. */
  readonly settle: (messageID: string) => void;
};

const isOwnText = (part: PartRecord): boolean => part.type === 'text' && part.synthetic !== true;
const isSynthetic = (part: PartRecord): boolean => part.type === 'text' && part.synthetic === true;

/** The newest prompt that is not known. What the agent asks itself is none, and a prompt with words is surer to be one. */
const newestIn = (records: readonly MessageRecord[], earlier: ReadonlySet<string>): string | undefined => {
  const prompts = promptsAfter(records, earlier);
  const isInWords = (id: string) => records.some(({ info, parts }) => info.id === id && parts.some(isOwnText));
  return prompts.findLast(isInWords) ?? prompts.at(-1);
};

/** `earlier` are user messages known from before, which are told again when the agent changes something about them. */
export const createTurnPrompts = (earlier: ReadonlySet<string>): TurnPrompts => {
  let promptID: string | undefined;
  const prompts = new Set<string>();
  /** User messages that events have told of, and whether somebody has written something in them. */
  const heard = new Map<string, boolean>();

  const settle = (messageID: string): void => {
    if (prompts.has(messageID)) return;
    promptID = messageID;
    prompts.add(messageID);
  };
  return {
    promptID: () => promptID,
    has: (messageID) => prompts.has(messageID),
    settle,
    hear(messageID) {
      if (!heard.has(messageID)) heard.set(messageID, false);
      if (promptID === undefined && !earlier.has(messageID)) settle(messageID);
    },
    hearPart(part) {
      const { messageID } = part;
      if (!heard.has(messageID) || earlier.has(messageID) || messageID === promptID || promptID === undefined) return;
      if (isOwnText(part)) {
        heard.set(messageID, true);
        prompts.delete(messageID);
      } else if (isSynthetic(part) && heard.get(messageID) === false) prompts.add(messageID);
    },
    see(records) {
      const newest = promptID === undefined ? newestIn(records, earlier) : undefined;
      if (newest !== undefined) settle(newest);
      const place = records.findIndex(({ info }) => info.id === promptID);
      if (place === -1) return;
      for (const { info, parts } of records.slice(place + 1)) {
        if (info.role === 'user' && parts.some(isSynthetic) && !parts.some(isOwnText)) prompts.add(info.id);
      }
    },
  };
};
