import type { AnsweredRequest } from '../core/http/handler.ts';

/** Records metrics. No method takes a text or a key, so none can end up in a label; it never throws. */
export type ConsoleMetrics = {
  readonly recordRequest: (answered: AnsweredRequest) => void;
  /** Prometheus text, or undefined where this runtime has no metrics. */
  readonly text: () => Promise<string | undefined>;
};
