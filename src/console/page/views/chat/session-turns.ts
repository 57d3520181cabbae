import type { ShownMessage } from '../../api/types.ts';
import { errorSentence, fieldsOf, readParts, type ShownPart } from '../../format/message-parts.ts';

/** A message of a person and what the agent has stored of its answer. */
export type SessionTurn = {
  /** The id of the person's message. */
  readonly id: string;
  readonly prompt: string;
  readonly parts: readonly ShownPart[];
  /** Why the answer failed. */
  readonly error?: string;
  readonly isStopped: boolean;
};

const ABORTED = 'MessageAbortedError';

const isAbort = (error: unknown): boolean => fieldsOf(error).name === ABORTED;

const isSynthetic = (part: unknown): boolean => fieldsOf(part).synthetic === true;

/** Texts that were added for the model were written by no user. */
const partsOf = ({ info, parts }: ShownMessage): readonly ShownPart[] =>
  readParts(info.role === 'user' ? parts.filter((part) => !isSynthetic(part)) : parts);

const promptIn = (parts: readonly ShownPart[]): string =>
  parts.flatMap((part) => (part.kind === 'text' ? [part.text] : part.kind === 'file' ? [part.name] : [])).join('\n\n');

/**
 * The turns of a session's messages, the oldest first. Messages that no person wrote, as for a summary, belong to the turn before
 * them; answers without their prompt are left out.
 */
export const sessionTurns = (messages: readonly ShownMessage[]): readonly SessionTurn[] => {
  const turns: SessionTurn[] = [];
  for (const message of messages) {
    const { role, summary, error } = message.info;
    const parts = partsOf(message);
    const prompt = role === 'user' ? promptIn(parts) : '';
    if (prompt !== '') turns.push({ id: message.info.id, prompt, parts: [], isStopped: false });
    const turn = turns.at(-1);
    if (prompt !== '' || turn === undefined || summary === true) continue;
    const sentence = errorSentence(error);
    turns[turns.length - 1] = {
      id: turn.id,
      prompt: turn.prompt,
      parts: [...turn.parts, ...parts],
      isStopped: isAbort(error),
      ...(sentence === undefined || isAbort(error) ? {} : { error: sentence }),
    };
  }
  return turns;
};

/** What is known of a turn that is looked for: its id, or its prompt, or that none is newer. */
type SoughtTurn = {
  readonly id?: string | undefined;
  readonly prompt?: string | undefined;
  readonly isNewest: boolean;
};

/** The turn among those of its session, where others may have followed it since. */
export const findTurn = (
  turns: readonly SessionTurn[],
  { id, prompt, isNewest }: SoughtTurn,
): SessionTurn | undefined => {
  if (id !== undefined) return turns.find((turn) => turn.id === id);
  return turns.findLast((turn) => turn.prompt === prompt) ?? (isNewest ? turns.at(-1) : undefined);
};
