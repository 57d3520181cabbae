import { type AgentToolCall, type AnswerFailure, type ApprovalRequest, NO_USAGE, type Usage } from '../output.ts';
import { createLogTexts, type OpenText, type TextKind, type TextState } from './log-text.ts';

/** A text that grows. In pieces, because cutting what is new off the end of one long text would copy all of it each time. */
export type LoggedText = {
  readonly kind: TextKind;
  readonly id: string;
  /** Only ever added to, so every reader is told the same. None is empty. */
  readonly pieces: readonly string[];
  /** Nothing is added to it any more. */
  readonly isDone: boolean;
};
export type LoggedCall = {
  readonly kind: 'call';
  readonly id: string;
  readonly call: AgentToolCall;
  readonly result: { readonly output: string; readonly isError: boolean } | undefined;
};
export type LogItem = LoggedText | LoggedCall;

export type TurnEnd =
  | { readonly kind: 'answered'; readonly finish: 'stop' | 'length' | 'content_filter' }
  | { readonly kind: 'failed'; readonly failure: AnswerFailure };

/** What a turn has come to so far, for any number of readers, each at its own pace. */
export type TurnLog = {
  /** In the order in which they began. Items are only ever added; what is in them grows. */
  readonly items: () => readonly LogItem[];
  readonly usage: () => Usage;
  /** Questions that wait for an answer, the oldest first. */
  readonly approvalRequests: () => readonly ApprovalRequest[];
  readonly end: () => TurnEnd | undefined;
  /** Resolves with the next change. */
  readonly nextChange: () => Promise<void>;
  /** Ends an answer here: what comes is in items of its own, also more of what is being said. Tells how many there are. */
  readonly closeTexts: () => number;
};

export type TurnLogWriter = {
  readonly log: TurnLog;
  /** Whether the agent has said of a text that this is all. */
  readonly isTextOver: (id: string) => boolean;
  readonly hasResult: (callID: string) => boolean;
  /** More of a text that is there. */
  readonly addText: (id: string, more: string) => void;
  /** A text as it is now: new, grown, begun anew, over, or emptied because it counts for nothing. */
  readonly setText: (now: TextState) => void;
  /** Nothing comes after what there is of a message. */
  readonly endMessage: (messageID: string) => void;
  /** A call as it is now. */
  readonly setCall: (item: LoggedCall) => void;
  readonly setUsage: (usage: Usage) => void;
  readonly addApprovalRequest: (ask: ApprovalRequest) => void;
  readonly removeApprovalRequest: (id: string) => void;
  /** Ends it, once: texts count as done, open questions as gone, and nothing is added any more. */
  readonly finish: (end: TurnEnd) => void;
};

export const createTurnLog = (): TurnLogWriter => {
  const items: (OpenText | LoggedCall)[] = [];
  const texts = createLogTexts((item) => void items.push(item));
  const places = new Map<string, number>();
  const asks = new Map<string, ApprovalRequest>();
  let usage = NO_USAGE;
  let end: TurnEnd | undefined;
  let change = Promise.withResolvers<void>();

  /** A change that everybody hears of, unless all is over. */
  const changing =
    <Given extends readonly unknown[]>(write: (...given: Given) => void) =>
    (...given: Given): void => {
      if (end !== undefined) return;
      write(...given);
      const told = change;
      change = Promise.withResolvers<void>();
      told.resolve();
    };
  return {
    log: {
      items: () => items,
      usage: () => usage,
      approvalRequests: () => [...asks.values()],
      end: () => end,
      nextChange: () => change.promise,
      closeTexts() {
        texts.endAll();
        return items.length;
      },
    },
    isTextOver: texts.isOver,
    hasResult(callID) {
      const item = items[places.get(callID) ?? -1];
      return item?.kind === 'call' && item.result !== undefined;
    },
    addText: changing(texts.add),
    setText: changing(texts.set),
    endMessage: changing(texts.endMessage),
    setCall: changing((item: LoggedCall) => {
      const place = places.get(item.id);
      if (place === undefined) texts.endBefore('call');
      places.set(item.id, place ?? items.length);
      items[place ?? items.length] = item;
    }),
    setUsage: changing((total: Usage) => {
      usage = total;
    }),
    addApprovalRequest: changing((ask: ApprovalRequest) => void asks.set(ask.id, ask)),
    removeApprovalRequest: changing((id: string) => void asks.delete(id)),
    finish: changing((how: TurnEnd) => {
      texts.endAll();
      asks.clear();
      end = how;
    }),
  };
};
