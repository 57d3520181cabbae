import type { FinishedExchange, PausedTurn } from '../conversation/types.ts';
import type { ClientCall } from '../output.ts';
import { type BridgeRequest, callInHistory, describeToolCall, filesOfParts, textOfParts } from '../request.ts';
import { removeEcho } from '../stream/echo-filter.ts';
import type { AnswerSource } from './approvals/waiting-turns.ts';
import { readSentText, type TurnOutcome } from './outcome.ts';

/** Where an answer ended whose turn goes on; after an answer of the bridge itself where the one before ended. */
export const pausedAt = (
  before: PausedTurn | undefined,
  { turn, log }: Pick<AnswerSource, 'turn' | 'log'>,
  { items, usage, afterMessageID, waiting, last }: TurnOutcome,
): PausedTurn | undefined => {
  const requests = last.kind === 'end' ? last.end.approvalRequests : [];
  const approvalIDs = requests.map(({ id }) => id);
  const callIDs = requests.map(({ call }) => call?.id ?? '');
  if (turn === undefined)
    return approvalIDs.length === 0 || before === undefined ? undefined : { ...before, approvalIDs, callIDs };
  const promptID = turn.promptID();
  if (log.end() !== undefined || promptID === undefined) return undefined;
  return {
    ...{ promptID, approvalIDs, callIDs, items, usage },
    ...(afterMessageID === undefined ? {} : { afterMessageID }),
    ...(waiting === undefined || waiting.length === 0 ? {} : { waiting }),
  };
};

/** What is stored of the request: results of the client's calls belong to the answer that called. */
const sentTexts = ({ prompt, toolResults }: BridgeRequest) =>
  toolResults === undefined
    ? { promptText: textOfParts(prompt), files: filesOfParts(prompt) }
    : {
        results: toolResults.calls,
        promptText: textOfParts(toolResults.after),
        files: filesOfParts(toolResults.after),
      };

const callsInHistory = (calls: readonly ClientCall[]): readonly string[] =>
  calls.map(({ id, name, input }) => callInHistory(id, describeToolCall(name, input)));

type ExchangedTexts = Pick<FinishedExchange, 'results' | 'promptText' | 'files' | 'answerText' | 'calls'>;

/** A request with its answer as its client has them: else its history would not match. */
export const exchangedTexts = (
  request: BridgeRequest,
  { log, from }: Pick<AnswerSource, 'log' | 'from'>,
  outcome: TurnOutcome,
  { dropsLeadingEcho }: { readonly dropsLeadingEcho: boolean },
): ExchangedTexts => {
  const sent = readSentText(log, from, outcome);
  const text = dropsLeadingEcho ? removeEcho(sent, textOfParts(request.prompt)) : sent;
  return {
    ...sentTexts(request),
    answerText: text,
    ...(outcome.calls === undefined ? {} : { calls: callsInHistory(outcome.calls) }),
  };
};
