import { clientCallsIn, findGivenCalls, isCallOfClient } from '../../agent/given-calls.ts';
import type { MessageRecord } from '../../agent/schema.ts';
import type { BridgeRequest } from '../../request.ts';
import { promptIDsAfter } from '../transcript.ts';

/** Whether a client has the calls of a turn's last message. With results for all of them the turn is about to go on. */
const hasEndedWithCalls = (last: MessageRecord): boolean =>
  clientCallsIn(last).some(({ state }) => state.status !== 'completed');

/** The prompt of the turn that goes on with the results that a request brings; undefined while it does not. */
export const promptOfResults = (
  records: readonly MessageRecord[],
  { toolResults }: BridgeRequest,
  isRunning: boolean,
): string | undefined => {
  if (toolResults === undefined || toolResults.after.length > 0 || toolResults.files.length > 0) return undefined;
  const given = findGivenCalls(
    records,
    toolResults.results.map(({ callID }) => callID),
  );
  const isStored = given !== undefined && given.waiting.length === 0 && given.unanswered.length === 0;
  // An agent that was killed meanwhile may still have to go on with it.
  if (given?.next === undefined && !isRunning) return undefined;
  return isStored && promptIDsAfter(records, new Set([given.promptID])).length === 0 ? given.promptID : undefined;
};

/** Whether a turn was completed, and the tools that it has called. `others`: the session's other prompts. */
export const readTurn = (
  records: readonly MessageRecord[],
  promptID: string,
  others: ReadonlySet<string>,
): { readonly isComplete: boolean; readonly toolNames: readonly string[] } => {
  const from = records.findIndex(({ info }) => info.id === promptID);
  const later = from === -1 ? [] : records.slice(from + 1);
  const next = later.findIndex(({ info }) => others.has(info.id));
  const answers = later.slice(0, next === -1 ? undefined : next).filter(({ info }) => info.role === 'assistant');
  const last = answers.at(-1);
  return {
    isComplete:
      last?.info.role === 'assistant' &&
      last.info.time.completed !== undefined &&
      (last.info.finish !== 'tool-calls' || hasEndedWithCalls(last)) &&
      last.info.error?.name !== 'MessageAbortedError',
    toolNames: answers.flatMap(({ parts }) =>
      parts.flatMap((part) =>
        part.type === 'tool' && part.state.status !== 'pending' && !isCallOfClient(part) ? [part.tool] : [],
      ),
    ),
  };
};
