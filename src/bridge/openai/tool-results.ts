import { type ClientToolResults, callInHistory, filesOfParts, type PromptPart, textOfParts } from '../request.ts';
import { joinAdjacentTexts, type RoleParts, toHistory } from './content.ts';

/** More results among calls are taken as those of one call after the other. */
const EARLIER_LIMIT = 128;

/** A message or item of a dialogue, in order. `output`: it is what a call of the client gave, and `parts` describe it. */
export type DialogueEntry = RoleParts & {
  readonly output?: { readonly callID: string | null | undefined; readonly parts: readonly PromptPart[] };
};

/** The members of an entry that is the result of a call. `described`: its parts as text, the first of which is the result. */
export const resultOf = (
  callID: string | null | undefined,
  parts: readonly PromptPart[],
  described: readonly PromptPart[],
): Pick<DialogueEntry, 'output' | 'calls'> => {
  const [part] = described;
  return { output: { callID, parts }, ...(callID && part !== undefined ? { calls: [{ callID, part }] } : {}) };
};

/** A result as the model reads it. Its files are in the prompt after it. */
const outputOf = (parts: readonly PromptPart[]): string => {
  const text = textOfParts(parts);
  return text === '' && parts.length > 0 ? '[files, which follow]' : text;
};

const inHistory = (entries: readonly DialogueEntry[]): readonly string[] =>
  entries.flatMap(({ calls = [] }) => calls.map(({ callID, part }) => callInHistory(callID, part)));

const isCall = ({ output, calls = [] }: DialogueEntry): boolean => output === undefined && calls.length > 0;

/**
 * The results before `start` that stand among calls: call, result, call, result. They may be of calls that the model made one after
 * the other, or at once; which of them is known where the conversation is found.
 */
const parseEarlierResults = (dialogue: readonly DialogueEntry[], start: number) => {
  const before = dialogue.slice(0, start);
  const run = before.slice(before.findLastIndex((entry) => entry.output === undefined && !isCall(entry)) + 1);
  const results = run.filter(({ output }) => output !== undefined);
  const calls = inHistory(results);
  return {
    earlier: results.flatMap(({ output, parts }) =>
      output?.callID ? [{ callID: output.callID, output: outputOf(output.parts), described: parts }] : [],
    ),
    calls,
    withheld: calls.slice(-EARLIER_LIMIT),
  };
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
  const { calls: earlierCalls, ...earlier } = parseEarlierResults(dialogue, start);
  return {
    ...earlier,
    calls: [...earlierCalls, ...inHistory(given)],
    results: outputs.map(({ callID, parts }) => ({ callID, output: outputOf(parts) })),
    files: outputs.flatMap(({ parts }) => filesOfParts(parts)),
    history: toHistory(dialogue.slice(0, start)),
    described: joinAdjacentTexts(given.flatMap(({ parts }) => parts)),
    after: joinAdjacentTexts(dialogue.slice(end).flatMap(({ parts }) => parts)),
  };
};
