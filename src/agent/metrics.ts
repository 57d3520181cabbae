import type { Clock } from '../core/clock.ts';
import type { AnsweredRequest } from '../core/http/handler.ts';
import type { Span, TraceContext } from '../core/http/tracing.ts';
import { beginModelCall, endModelCall } from './model/call-span.ts';
import type { ModelRequest } from './model/types.ts';
import type { MessageTokens } from './protocol/types.ts';
import type { PeerCounts } from './store/cluster.ts';

/** Values of the moment, which are read when the metrics are requested. */
export type AgentGauges = PeerCounts & {
  readonly runsRunning: number;
  /** Prompts that wait for an earlier prompt of their session. */
  readonly runsWaiting: number;
  readonly permissionRequestsOpen: number;
  /** Whether the store worked at the last attempt. */
  readonly isStoreUp: boolean;
  readonly streamsOpen: number;
  /** The size of what the requests in flight hold. */
  readonly bytesInFlight: number;
};

/** A turn that has ended. */
type TurnRecord = { readonly end: 'answered' | 'failed' | 'aborted'; readonly durationMs: number };

/** A request to a model that has ended. */
type ModelCallRecord = {
  /** Provider and model, as the configuration names them. */
  readonly model: string;
  /** `left`: the caller aborted before the end of the answer. */
  readonly outcome: 'answered' | 'failed' | 'left';
  /** None where the answer never ended. */
  readonly tokens: MessageTokens | undefined;
  readonly durationMs: number;
};

/** A tool call that has ended. */
export type ToolCallRecord = {
  /** The id of the tool server; `gatehouse` for built-in tools, `client` for those of a client, `none` for tools that do not exist. */
  readonly server: string;
  /** `refused`: the call was not made, because of a rule, a person or a limit. */
  readonly outcome: 'completed' | 'failed' | 'refused' | 'aborted';
};

/** Counts what happens. No method takes a text of a user, a model or a tool, so none can get into a label. None throws. */
export type AgentMetrics = {
  readonly requestAnswered: (answered: AnsweredRequest) => void;
  readonly turnEnded: (facts: TurnRecord) => void;
  readonly modelCallEnded: (facts: ModelCallRecord) => void;
  readonly toolCallEnded: (facts: ToolCallRecord) => void;
  /** Retention removed this many sessions, because of their age or their number. */
  readonly sessionsRetired: (sessions: number) => void;
  /** Sets what reads the values of the moment when the metrics are requested. */
  readonly watch: (read: () => AgentGauges) => void;
  /** Prometheus text; undefined where this runtime has no metrics. */
  readonly text: () => Promise<string | undefined>;
};

/** What is asked, and in which span of a trace. `ask` makes its calls in the trace that it is given. */
type CountedCall<End> = {
  readonly signal: AbortSignal;
  readonly span: Span | undefined;
  readonly ask: (trace: TraceContext | undefined) => Promise<End>;
};

/** Makes one request to a model and counts it, however it ends; in a trace it is a span. An end without tokens means that the answer broke off. */
export const countModelCall = async <End extends { readonly tokens: MessageTokens | undefined }>(
  { clock, metrics }: { readonly clock: Clock; readonly metrics: AgentMetrics },
  { target }: ModelRequest,
  { signal, span: parent, ask }: CountedCall<End>,
): Promise<End> => {
  const startedAt = clock.now();
  const span = beginModelCall(parent, target);
  let end: End | undefined;
  let failure: unknown;
  try {
    end = await ask(span?.context);
    return end;
  } catch (error) {
    failure = error;
    throw error;
  } finally {
    const tokens = end?.tokens;
    const outcome = tokens !== undefined ? 'answered' : signal.aborted ? 'left' : 'failed';
    const model = `${target.providerID}/${target.upstreamID}`;
    endModelCall(span, { outcome, tokens, failure });
    metrics.modelCallEnded({ model, outcome, tokens, durationMs: clock.now() - startedAt });
  }
};
