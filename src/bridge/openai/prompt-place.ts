/**
 * What an entry of a dialogue is. `answer`: a text of the assistant, which may be continued. `silent`: it has no text. `other`: what
 * has to be followed by something, such as a call.
 */
export type EntryKind = 'user' | 'result' | 'instruction' | 'answer' | 'silent' | 'other';

type PromptPlace<Entry> = {
  /** The entries up to the prompt, which is the user's words or results at their end. */
  readonly entries: readonly Entry[];
  /** The answer's beginning, where the client has written that. Empty for nearly all requests. */
  readonly prefill: readonly Entry[];
  /** The prompt is instructions, which count as the user's words and decide nothing for the user. */
  readonly isByInstruction?: boolean;
};

/** The place of the entry before `end` that matters for what comes next; -1 where there is none. */
const lastSpoken = (kinds: readonly EntryKind[]): number =>
  kinds.findLastIndex((kind) => kind !== 'instruction' && kind !== 'silent');

/**
 * Finds what has to be answered where that is not the user's words, as OpenAI does. Texts of the assistant at the end are the beginning
 * of the answer. Instructions with no user's words to answer before them are the prompt: those after the last answer, or all
 * where nothing else was sent. Entries in which there is nothing to answer are left as they are.
 */
export const findPrompt = <Entry>(
  entries: readonly Entry[],
  kindOf: (entry: Entry) => EntryKind,
  toUser: (instruction: Entry) => Entry,
): PromptPlace<Entry> => {
  const kinds = entries.map(kindOf);
  const isContinued = kinds.findLast((kind) => kind !== 'silent') === 'answer';
  const end = isContinued ? kinds.findLastIndex((kind) => kind !== 'answer' && kind !== 'silent') + 1 : entries.length;
  const last = lastSpoken(kinds.slice(0, end));
  const kind = kinds[last];
  const unchanged = { entries, prefill: [] };
  if (kind === 'other') return unchanged;
  const found = { entries: entries.slice(0, end), prefill: entries.slice(end) };
  if (kind === 'user' || kind === 'result') return found;
  const isAsked = kinds.slice(last + 1, end).includes('instruction');
  if (!isAsked) return unchanged;
  const asked = found.entries.map((entry, index) =>
    index > last && kinds[index] === 'instruction' ? toUser(entry) : entry,
  );
  return { ...found, entries: asked, isByInstruction: true };
};
