import type { Clock } from '../../core/clock.ts';
import type { Publication } from '../events/publisher.ts';
import type { Answered } from '../events/records.ts';
import type { AgentMetrics } from '../metrics.ts';
import type { ChatModel } from '../model/types.ts';
import type { Ids } from '../protocol/ids.ts';
import type { Action, MessageTokens, SessionStatus } from '../protocol/types.ts';
import type { Store } from '../store/store.ts';
import type { Approvals } from '../tools/approvals.ts';
import type { AgentTool, OutputLimits } from '../tools/tool.ts';

export type TurnContext = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly chance: () => number;
  readonly model: ChatModel;
  readonly approvals: Approvals;
  readonly store: Pick<Store, 'messages' | 'messageOutlines'>;
  readonly outputLimits: OutputLimits;
  readonly metrics: Pick<AgentMetrics, 'modelCallEnded' | 'toolCallEnded'>;
  readonly publish: (fact: Publication) => Promise<unknown>;
  readonly show: (status: SessionStatus) => Promise<unknown>;
  /** What is told with the end of the turn. */
  readonly atEnd: () => Promise<Publication>;
  /** Adds what a step has cost to the session; `within` as for any other change of a session. */
  readonly addUsage: (
    step: { readonly tokens: MessageTokens; readonly cost: number },
    within: (changed: Publication) => Publication,
  ) => Promise<unknown>;
  /** Hears of a failure that nobody expects; whoever asked is told only that there was one. */
  readonly onBug: (error: unknown) => void;
};

/** What is to be answered, by whom, and with which tools. */
export type TurnRequest = Answered & {
  readonly tools: readonly AgentTool[];
  readonly currentAction: (tool: string, patterns: readonly string[]) => Promise<Action>;
};
