import type { AnswerFailure } from '../errors.ts';
import { type AgentToolCall, type ApprovalRequest, type ClientCall, NO_USAGE, type Usage } from '../output.ts';
import { createLogTexts, type OpenText, type TextKind, type TextState } from './log-text.ts';

/** A text that grows. In pieces, because cutting the new part off one long text would copy all of it each time. */
export type LoggedText = {
  readonly kind: TextKind;
  readonly id: string;
  /** Only ever added to, so every reader gets the same. None is empty. */
  readonly pieces: readonly string[];
  /** Nothing is added any more. */
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

/** Where an answer ends because the client has calls to make: after so many items and tokens of the turn. */
export type ClientCallsPause = {
  /** The agent's message that has the calls. */
  readonly messageID: string;
  readonly calls: readonly ClientCall[];
  readonly items: number;
  readonly usage: Usage;
};

/** What a turn has produced so far, for any number of readers, each at its own pace. */
export type TurnLog = {
  /** In the order in which they began. Items are only ever added; their content grows. */
  readonly items: () => readonly LogItem[];
  readonly usage: () => Usage;
  /** Those that are open, the oldest first. */
  readonly approvalRequests: () => readonly ApprovalRequest[];
  /** In order. A turn that goes on after one does so once the client has given the results. */
  readonly pauses: () => readonly ClientCallsPause[];
  readonly end: () => TurnEnd | undefined;
  /** Calls the listener after each change, until the returned function is called. It must not throw. */
  readonly subscribe: (listener: () => void) => () => void;
  /** Resolves once the approval requests have changed, or it has ended. */
  readonly nextDecision: () => Promise<void>;
  /** Ends an answer here: anything later gets new items, also the rest of an unfinished text. Returns the item count. */
  readonly closeTexts: () => number;
};

export type TurnLogWriter = {
  readonly log: TurnLog;
  /** Whether the agent has marked a text as complete. */
  readonly isTextOver: (id: string) => boolean;
  readonly hasResult: (callID: string) => boolean;
  /** Adds to a text that is in the log. */
  readonly addText: (id: string, more: string) => void;
  /** Sets a text to its current state: new, longer, restarted, complete, or emptied because it is withdrawn. */
  readonly setText: (state: TextState) => void;
  /** A message gets no further texts. */
  readonly endMessage: (messageID: string) => void;
  /** Adds a call, or replaces it by its current state. */
  readonly setCall: (item: LoggedCall) => void;
  readonly setUsage: (usage: Usage) => void;
  /** The turn pauses here, for these calls of the client. At a message where it is known to pause, only the calls are set. */
  readonly pause: (messageID: string, calls: readonly ClientCall[]) => void;
  readonly addApprovalRequest: (request: ApprovalRequest) => void;
  readonly removeApprovalRequest: (id: string) => void;
  /** Ends the log, once: texts are done, approval requests are closed, and later writes change nothing. */
  readonly finish: (end: TurnEnd) => void;
};

export const createTurnLog = (): TurnLogWriter => {
  const items: (OpenText | LoggedCall)[] = [];
  const texts = createLogTexts((item) => void items.push(item));
  const callPositions = new Map<string, number>();
  const approvalRequests = new Map<string, ApprovalRequest>();
  const pauses: ClientCallsPause[] = [];
  let usage = NO_USAGE;
  let end: TurnEnd | undefined;
  let decision = Promise.withResolvers<void>();
  const listeners = new Set<() => void>();

  const notifyDecision = (): void => {
    decision.resolve();
    decision = Promise.withResolvers();
  };
  /** Makes a write call all listeners, and do nothing after the end. */
  const notifying =
    <Given extends readonly unknown[]>(write: (...given: Given) => void) =>
    (...given: Given): void => {
      if (end !== undefined) return;
      write(...given);
      for (const listener of listeners) listener();
    };
  return {
    log: {
      items: () => items,
      usage: () => usage,
      approvalRequests: () => [...approvalRequests.values()],
      pauses: () => pauses,
      end: () => end,
      subscribe(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
      nextDecision: () => decision.promise,
      closeTexts() {
        texts.endAll();
        return items.length;
      },
    },
    isTextOver: texts.isOver,
    hasResult(callID) {
      const item = items[callPositions.get(callID) ?? -1];
      return item?.kind === 'call' && item.result !== undefined;
    },
    addText: notifying(texts.add),
    setText: notifying(texts.set),
    endMessage: notifying(texts.endMessage),
    setCall: notifying((item: LoggedCall) => {
      const known = callPositions.get(item.id);
      if (known === undefined) texts.endBefore('call');
      const position = known ?? items.length;
      callPositions.set(item.id, position);
      items[position] = item;
    }),
    setUsage: notifying((total: Usage) => {
      usage = total;
    }),
    pause: notifying((messageID: string, calls: readonly ClientCall[]) => {
      const position = pauses.findIndex((known) => known.messageID === messageID);
      const known = pauses[position];
      if (known === undefined) pauses.push({ messageID, calls, items: items.length, usage });
      else pauses[position] = { ...known, calls };
    }),
    addApprovalRequest: notifying((request: ApprovalRequest) => {
      approvalRequests.set(request.id, request);
      notifyDecision();
    }),
    removeApprovalRequest: notifying((id: string) => {
      approvalRequests.delete(id);
      notifyDecision();
    }),
    finish: notifying((how: TurnEnd) => {
      texts.endAll();
      approvalRequests.clear();
      end = how;
      notifyDecision();
    }),
  };
};
