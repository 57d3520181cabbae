import type { MessageRecord } from '../../../agent/schema.ts';
import type { PausedTurn } from '../../../conversation/types.ts';
import type { ApprovalRequest } from '../../../output.ts';
import { toApprovalRequest } from '../../../turn/approvals/text.ts';
import type { LogItem } from '../../../turn/log.ts';
import { usageSince } from '../../../turn/outcome.ts';
import type { ReplayedTurn, TurnSegment } from './turn-segments.ts';

// An approval divides a segment: the response that asked has what comes before, and the one after the decision goes on.

/**
 * The calls that approvals were asked for, as far as they are known. Some models give the same ids again in each step, so of several the
 * last one counts that may have been there.
 */
const callsAsked = ({ log }: ReplayedTurn, { items, callIDs = [] }: PausedTurn): readonly (LogItem | undefined)[] => {
  const there = log.items().slice(0, items + callIDs.length);
  return callIDs.map((id) => there.findLast((item) => item.kind === 'call' && item.call.id === id));
};

/**
 * Ids of the items of a turn that a response has shown which asked for approvals, and those before it. A call that waits for one
 * begins late, and stands in the agent's messages before others that began earlier.
 */
const shownUpTo = (turn: ReplayedTurn, asked: PausedTurn): ReadonlySet<string> => {
  const asking = callsAsked(turn, asked);
  const hasBegun = (item: LogItem): boolean => !asking.includes(item) || asked.waiting?.includes(item.id) === true;
  return new Set(
    turn.log
      .items()
      .filter(hasBegun)
      .slice(0, asked.items)
      .map(({ id }) => id),
  );
};

/** Without the result that a call got later. */
const asWaiting = (item: LogItem, waiting: readonly string[]): LogItem =>
  item.kind === 'call' && waiting.includes(item.id) ? { ...item, result: undefined } : item;

/**
 * The part of a segment that is one response. `continues`: where the one before it ended with approval requests. `asked`: where it ended
 * with such itself.
 */
export const partOfSegment = (
  turn: ReplayedTurn,
  segment: TurnSegment,
  { continues, asked }: { readonly continues: PausedTurn | undefined; readonly asked: PausedTurn | undefined },
): TurnSegment => {
  const before = continues && shownUpTo(turn, continues);
  const until = asked && shownUpTo(turn, asked);
  const items = segment.items
    .filter(({ id }) => before?.has(id) !== true || continues?.waiting?.includes(id) === true)
    .filter(({ id }) => until?.has(id) !== false)
    .map((item) => asWaiting(item, asked?.waiting ?? []));
  const usageBefore = continues?.usage ?? segment.usageBefore;
  if (asked !== undefined)
    return {
      items,
      usageBefore,
      usage: usageSince(asked.usage, usageBefore),
      calls: [],
      results: [],
      endedBy: undefined,
    };
  const usage =
    continues === undefined ? segment.usage : usageSince(segment.usage, usageSince(usageBefore, segment.usageBefore));
  return { ...segment, items, usageBefore, usage };
};

/** The approval requests that a response asked for, after their end. What the agent noted beside the arguments is gone. */
export const requestsAsked = (
  messages: readonly MessageRecord[],
  turn: ReplayedTurn,
  asked: PausedTurn,
): readonly ApprovalRequest[] => {
  const parts = messages.flatMap((message) => message.parts);
  return callsAsked(turn, asked).flatMap((item, index) => {
    const part = parts.find(({ id }) => id === item?.id);
    const id = asked.approvalIDs[index];
    if (part?.type !== 'tool' || id === undefined) return [];
    const { sessionID, messageID, callID, tool: permission } = part;
    const metadata = { input: part.state.input };
    return [toApprovalRequest({ id, sessionID, permission, metadata, tool: { messageID, callID } }, sessionID)];
  });
};
