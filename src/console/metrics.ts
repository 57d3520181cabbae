import type { AnsweredRequest } from '../core/http/handler.ts';

/** The current values of the gauges. */
export type ConsoleReadings = {
  readonly openApprovals: number;
  /** Browsers that follow the events. */
  readonly followers: number;
  readonly servicesUp: number;
  readonly services: number;
};

/** Records metrics. No method takes a text or a key, so none can end up in a label; it never throws. */
export type ConsoleMetrics = {
  readonly recordRequest: (answered: AnsweredRequest) => void;
  /** A decision that counted. */
  readonly recordDecision: (reply: 'once' | 'always' | 'reject') => void;
  readonly recordLogin: (outcome: 'right' | 'wrong' | 'throttled') => void;
  readonly recordNotification: (outcome: 'sent' | 'failed' | 'ended') => void;
  /** How many recharges of the journal are in doubt now. Undefined where that is not known: then there is no such metric. */
  readonly recordRechargesInDoubt: (count: number | undefined) => void;
  /** Sets the function that reads the gauges when the metrics are fetched. */
  readonly watch: (read: () => ConsoleReadings) => void;
  /** Prometheus text, or undefined where this runtime has no metrics. */
  readonly text: () => Promise<string | undefined>;
};
