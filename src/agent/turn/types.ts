import type { Span } from '../../core/http/tracing.ts';
import type { Publication } from '../events/publisher.ts';
import type { Answered } from '../events/records.ts';
import type { ChatModel } from '../model/types.ts';
import type { MessageTokens, Session, SessionStatus, ToolPart } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import type { Approvals } from '../tools/approvals.ts';
import type { CurrentAction } from '../tools/permission-check.ts';
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
export type TurnContext = AgentRuntime & {
  readonly model: ChatModel;
  readonly approvals: Approvals;
  /** The turn in its trace, where there is one. */
  readonly span: Span | undefined;
  readonly failures: FailureLog;
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
  /** Adds what a step has cost to the session; `within` adds to the facts that are published with the change. */
  readonly addUsage: (
    step: { readonly tokens: MessageTokens; readonly cost: number },
    within: (changed: Publication) => Publication,
  ) => Promise<unknown>;
};

/** One message to answer: the agent and model that answer it, and the tools they may use. */
export type TurnRequest = Answered & {
  readonly tools: readonly AgentTool[];
  /** The tools of the prompt that run at the client. */
  readonly clientTools: OfferedClientTools;
  /** The form of the answer, where the prompt names one. */
  readonly output?: StructuredOutput | undefined;
  /** What the permission rules say at this moment. */
  readonly currentAction: CurrentAction;
};
