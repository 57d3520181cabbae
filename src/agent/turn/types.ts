import type { ByteBudget } from '../../core/byte-budget.ts';
import type { Clock } from '../../core/clock.ts';
import type { Span } from '../../core/http/tracing.ts';
import type { Publication } from '../events/publisher.ts';
import type { Answered } from '../events/records.ts';
import type { AgentMetrics } from '../metrics.ts';
import type { ChatModel } from '../model/types.ts';
import type { Ids } from '../protocol/ids.ts';
import type { Action, MessageTokens, Session, SessionStatus, ToolPart } from '../protocol/types.ts';
import type { Store } from '../store/store.ts';
import type { Approvals } from '../tools/approvals.ts';
import type { OutputLimits } from '../tools/output-limit.ts';
import type { AgentTool } from '../tools/tool.ts';
import type { OfferedClientTools } from './client-tools.ts';
import type { FailureLog } from './failure-log.ts';
import type { StructuredOutput } from './structured-output.ts';

/** The answer of a run: the texts of its steps, or the value that was asked for, and the calls that it hands to the client. */
export type EndedAnswer = {
  readonly texts: readonly string[];
  readonly structured: { readonly value: unknown } | undefined;
  readonly calls: readonly ToolPart[];
};

/** What the steps of one turn work with. */
export type TurnContext = {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly chance: () => number;
  readonly model: ChatModel;
  readonly approvals: Approvals;
  readonly store: Pick<Store, 'message' | 'messages' | 'messageOutlines' | 'messageHeads'>;
  readonly outputLimits: OutputLimits;
  /** Limits the messages that all model calls together hold. */
  readonly budget: Pick<ByteBudget, 'take' | 'keep' | 'limitBytes'>;
  readonly metrics: Pick<AgentMetrics, 'modelCallEnded' | 'toolCallEnded'>;
  /** The turn in its trace, where there is one. */
  readonly span: Span | undefined;
  readonly publish: (fact: Publication) => Promise<unknown>;
  readonly show: (status: SessionStatus) => Promise<unknown>;
  /** What is published together with the end of the turn. It is given the answer, if that did not fail. */
  readonly atEnd: (answer: EndedAnswer | undefined) => Promise<Publication>;
  /** Since the prompt was stored, nothing came to the session but further prompts. */
  readonly isUntouched: boolean;
  /** Changes the session; `within` adds to the facts that are published with the change. */
  readonly changeSession: (
    change: (session: Session) => Session,
    within: (changed: Publication) => Publication,
  ) => Promise<unknown>;
  /** How long the results of client tools are waited for. */
  readonly clientToolTimeoutMs: number;
  /** Adds what a step has cost to the session; `within` adds to the facts that are published with the change. */
  readonly addUsage: (
    step: { readonly tokens: MessageTokens; readonly cost: number },
    within: (changed: Publication) => Publication,
  ) => Promise<unknown>;
  readonly onFailedAttempt: FailureLog['onFailedAttempt'];
  /** Called with an unexpected failure; the caller learns only that there was one. */
  readonly onBug: (error: unknown) => void;
};

/** One message to answer: the agent and model that answer it, and the tools they may use. */
export type TurnRequest = Answered & {
  readonly tools: readonly AgentTool[];
  /** The tools of the prompt that run at the client. */
  readonly clientTools: OfferedClientTools;
  /** The form of the answer, where the prompt names one. */
  readonly output?: StructuredOutput | undefined;
  /** What the permission rules say at this moment. */
  readonly currentAction: (tool: string, patterns: readonly string[]) => Promise<Action>;
};
