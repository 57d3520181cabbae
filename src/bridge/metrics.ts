import type { AnsweredRequest } from '../core/http/handler.ts';

/** What can be read off the bridge at any moment. */
export type BridgeReadings = {
  readonly answersRunning: number;
  readonly conversations: number;
  readonly isAgentConnected: boolean;
  readonly agentServers: { readonly total: number; readonly healthy: number };
};

export type AnswerMeasurement = {
  readonly endpoint: 'chat' | 'responses';
  readonly isStreamed: boolean;
  /** `asked`: it ended with a question to the user; `left`: the client left before the end. */
  readonly outcome: 'answered' | 'asked' | 'failed' | 'left';
  /** From the request to the first word, if there was one. */
  readonly firstWordMs: number | undefined;
  readonly durationMs: number;
};

/** Counts what happens. No method takes a text or a key, so none can end up in a label; it never throws. */
export type BridgeMetrics = {
  readonly recordRequest: (answered: AnsweredRequest) => void;
  readonly recordAnswer: (facts: AnswerMeasurement) => void;
  /** Tells where to read the moment's values from when the metrics are asked for. */
  readonly watch: (read: () => BridgeReadings) => void;
  /** Prometheus text, or nothing where this runtime keeps no metrics. */
  readonly text: () => Promise<string | undefined>;
};

export const NO_BRIDGE_METRICS: BridgeMetrics = {
  recordRequest() {},
  recordAnswer() {},
  watch() {},
  text: async () => undefined,
};
