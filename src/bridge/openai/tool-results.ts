import { type ClientToolResults, filesOfParts, type PromptPart, textOfParts } from '../request.ts';
import { joinAdjacentTexts, type RoleParts, toHistory } from './content.ts';

/** A message or item of a dialogue, in order. `output`: it is what a call of the client gave, and `parts` describe it. */
export type DialogueEntry = RoleParts & {
  readonly output?: { readonly callID: string | null | undefined; readonly parts: readonly PromptPart[] };
};

/** A result as the model reads it. Its files are in the prompt after it. */
const outputOf = (parts: readonly PromptPart[]): string => {
  const text = textOfParts(parts);
  return text === '' && parts.length > 0 ? '[files, which follow]' : text;
};

/**
 * The results of a client's calls with which a dialogue ends; only words of the user may follow them. Undefined if there are none
 * that name their call.
 */
export const parseToolResults = (dialogue: readonly DialogueEntry[]): ClientToolResults | undefined => {
  const end = dialogue.findLastIndex(({ role }) => role !== 'user') + 1;
  const start = dialogue.slice(0, end).findLastIndex(({ output }) => output === undefined) + 1;
  const given = dialogue.slice(start, end);
  const outputs = given.flatMap(({ output }) => (output?.callID ? [{ ...output, callID: output.callID }] : []));
  if (outputs.length === 0) return undefined;
  return {
    results: outputs.map(({ callID, parts }) => ({ callID, output: outputOf(parts) })),
    files: outputs.flatMap(({ parts }) => filesOfParts(parts)),
    history: toHistory(dialogue.slice(0, start)),
    described: joinAdjacentTexts(given.flatMap(({ parts }) => parts)),
    after: joinAdjacentTexts(dialogue.slice(end).flatMap(({ parts }) => parts)),
  };
};
