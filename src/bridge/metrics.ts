import type { AnsweredRequest } from '../core/http/handler.ts';

/** The current values of the gauges. */
export type BridgeReadings = {
  readonly answersRunning: number;
  /** Streams of responses in the background that are read again. */
  readonly streamsResumed: number;
  /** The size of what the requests in flight hold. */
  readonly bytesInFlight: number;
  readonly isAgentConnected: boolean;
  readonly agentServers: { readonly total: number; readonly healthy: number };
};

/** One answer, when it has ended. */
export type AnswerMeasurement = {
  readonly endpoint: 'chat' | 'completions' | 'responses';
  readonly isStreamed: boolean;
  /** `asked`: it ended with an approval request; `left`: the client disconnected before the end. */
  readonly outcome: 'answered' | 'asked' | 'failed' | 'left';
  /** From the request to the first word, if there was one. */
  readonly firstWordMs: number | undefined;
  readonly durationMs: number;
};

/** Records metrics. No method takes a text or a key, so none can end up in a label; it never throws. */
export type BridgeMetrics = {
  readonly recordRequest: (answered: AnsweredRequest) => void;
  readonly recordAnswer: (facts: AnswerMeasurement) => void;
  /** Sets the function that reads the gauges when the metrics are fetched. */
  readonly watch: (read: () => BridgeReadings) => void;
  /** Prometheus text, or undefined where this runtime has no metrics. */
  readonly text: () => Promise<string | undefined>;
};
