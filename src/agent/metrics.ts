import type { Clock } from '../core/clock.ts';
import type { AnsweredRequest } from '../core/http/handler.ts';
import type { ModelRequest } from './model/types.ts';
import type { MessageTokens } from './protocol/types.ts';
import type { PeerCounts } from './store/cluster.ts';

/** What can be read off the agent server at any moment. */
export type AgentGauges = PeerCounts & {
  readonly runsRunning: number;
  /** Prompts that wait for their session's turn. */
  readonly runsWaiting: number;
  readonly permissionRequestsOpen: number;
  readonly streamsOpen: number;
};

export type TurnRecord = { readonly end: 'answered' | 'failed' | 'aborted'; readonly durationMs: number };

export type ModelCallRecord = {
  /** Provider and model, as the configuration names them. */
  readonly model: string;
  /** `left`: nobody waited for the end of the answer. */
  readonly outcome: 'answered' | 'failed' | 'left';
  /** None where the answer never ended. */
  readonly tokens: MessageTokens | undefined;
  readonly durationMs: number;
};

export type ToolCallRecord = {
  /** The id of the tool server; `gatehouse` for tools of our own, `none` for those that there are not. */
  readonly server: string;
  /** `refused`: it was not made, because of a rule, a person or a limit. */
  readonly outcome: 'completed' | 'failed' | 'refused' | 'aborted';
};

/** Counts what happens. No method takes a text of a user, a model or a tool, so none can end up in a label; it never throws. */
export type AgentMetrics = {
  readonly requestAnswered: (answered: AnsweredRequest) => void;
  readonly turnEnded: (facts: TurnRecord) => void;
  readonly modelCallEnded: (facts: ModelCallRecord) => void;
  readonly toolCallEnded: (facts: ToolCallRecord) => void;
  /** So many sessions were removed, because of their age or their number. */
  readonly sessionsRetired: (sessions: number) => void;
  /** Tells where to read the moment's values from when the metrics are asked for. */
  readonly watch: (read: () => AgentGauges) => void;
  /** Prometheus text, or nothing where this runtime keeps no metrics. */
  readonly text: () => Promise<string | undefined>;
};

export const NO_AGENT_METRICS: AgentMetrics = {
  requestAnswered() {},
  turnEnded() {},
  modelCallEnded() {},
  toolCallEnded() {},
  sessionsRetired() {},
  watch() {},
  text: async () => undefined,
};

export type ModelCallMetrics = {
  readonly clock: Pick<Clock, 'now'>;
  readonly metrics: Pick<AgentMetrics, 'modelCallEnded'>;
};

/** Counts one request to a model, however it ends. An end without tokens is one that the model never came to. */
export const countModelCall = async <End extends { readonly tokens: MessageTokens | undefined }>(
  { clock, metrics }: ModelCallMetrics,
  { target }: ModelRequest,
  { signal, ask }: { readonly signal: AbortSignal; readonly ask: () => Promise<End> },
): Promise<End> => {
  const startedAt = clock.now();
  let end: End | undefined;
  try {
    end = await ask();
    return end;
  } finally {
    const tokens = end?.tokens;
    const outcome = tokens !== undefined ? 'answered' : signal.aborted ? 'left' : 'failed';
    const model = `${target.providerID}/${target.upstreamID}`;
    metrics.modelCallEnded({ model, outcome, tokens, durationMs: clock.now() - startedAt });
  }
};
