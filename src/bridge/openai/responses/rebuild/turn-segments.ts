import { type CallPart, clientCallsIn } from '../../../agent/given-calls.ts';
import type { AssistantInfo, MessageRecord } from '../../../agent/schema.ts';
import { isStoredItem } from '../../../conversation/stored/items.ts';
import { promptIDsAfter } from '../../../conversation/transcript.ts';
import { type ClientCall, NO_USAGE, type Usage } from '../../../output.ts';
import { createTurnLog, type LogItem, type TurnLog } from '../../../turn/log.ts';
import { usageSince } from '../../../turn/outcome.ts';
import { createTurnReducer } from '../../../turn/reducer.ts';

/** The messages of one turn, from its prompt to the next prompt of a user. Empty where it is not among them. */
export const messagesOfTurn = (
  messages: readonly MessageRecord[],
  promptID: string,
): { readonly turn: readonly MessageRecord[]; readonly isLast: boolean } => {
  const from = messages.findIndex(({ info }) => info.id === promptID);
  if (from === -1) return { turn: [], isLast: false };
  const [next] = promptIDsAfter(messages, new Set([promptID]));
  const to = messages.findIndex((record, index) => index > from && (record.info.id === next || isStoredItem(record)));
  return { turn: messages.slice(from, to === -1 ? undefined : to), isLast: next === undefined };
};

/** A part of a turn that is one response: up to calls that the client has to make, or up to where the turn is. */
export type TurnSegment = {
  readonly items: readonly LogItem[];
  readonly usage: Usage;
  /** The tokens of the turn before it. */
  readonly usageBefore: Usage;
  /** The calls that it ends with, and what the client has given for them. */
  readonly calls: readonly ClientCall[];
  readonly results: readonly CallPart[];
  /** The message that has the calls. Undefined where there are none: then it is the last segment. */
  readonly endedBy: AssistantInfo | undefined;
};

export type ReplayedTurn = {
  readonly log: TurnLog;
  readonly last: AssistantInfo | undefined;
  readonly segments: readonly [TurnSegment, ...TurnSegment[]];
};

/** Whether the agent adds nothing to an answer any more. */
export const isAnswerOver = (last: AssistantInfo | undefined): last is AssistantInfo =>
  last !== undefined && (last.time.completed !== undefined || last.error !== undefined);

/** A message as it was while its parts came, so that what ends it comes after them. */
const whileOpen = (info: AssistantInfo): AssistantInfo => ({
  ...info,
  time: { created: info.time.created },
  finish: undefined,
  error: undefined,
});

/** Replays the messages of a turn. Its first message is the prompt. */
export const replayTurn = (turn: readonly MessageRecord[]): ReplayedTurn => {
  const writer = createTurnLog();
  const { log } = writer;
  const reducer = createTurnReducer(writer, new Set());
  const [prompt] = turn;
  if (prompt !== undefined) reducer.setPrompt(prompt.info.id);
  for (const { info, parts } of turn) {
    const opened = info.role === 'assistant' ? whileOpen(info) : info;
    reducer.applyEvent({ type: 'message.updated', properties: { info: opened } });
    for (const part of parts) reducer.applyEvent({ type: 'message.part.updated', properties: { part } });
    reducer.applyEvent({ type: 'message.updated', properties: { info } });
  }
  const last = reducer.lastAnswer();
  if (isAnswerOver(last)) log.closeTexts();
  const segments: TurnSegment[] = [];
  let from = 0;
  let before = NO_USAGE;
  for (const { messageID, calls, items, usage } of log.pauses()) {
    const record = turn.find(({ info }) => info.id === messageID);
    segments.push({
      items: log.items().slice(from, items),
      usage: usageSince(usage, before),
      usageBefore: before,
      calls,
      results: record === undefined ? [] : clientCallsIn(record).filter(({ state }) => state.status === 'completed'),
      endedBy: record?.info.role === 'assistant' ? record.info : undefined,
    });
    [from, before] = [items, usage];
  }
  const rest: TurnSegment = {
    items: log.items().slice(from),
    usage: usageSince(log.usage(), before),
    usageBefore: before,
    calls: [],
    results: [],
    endedBy: undefined,
  };
  const [first, ...others] = [...segments, rest];
  return { log, last, segments: [first ?? rest, ...others] };
};
