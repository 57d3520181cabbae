import type { AnsweredRequest } from '../core/http/handler.ts';
import type { BreakerStatus } from '../llm/breaker.ts';
import type { AttemptRecord } from '../llm/failover.ts';
import type { KeyStatus } from '../llm/key-pool.ts';

/** What can be read off the gateway at any moment. Keys show by fingerprint only. */
export type Readings = {
  readonly keys: readonly KeyStatus[];
  readonly breaker: BreakerStatus;
  readonly callsRunning: number;
  readonly callsWaiting: number;
  readonly cachedVerdicts: number;
};

/** Counts what happens. No method takes a text or a key, so none can end up in a label; it never throws. */
export type Meter = {
  readonly answered: (answered: AnsweredRequest) => void;
  readonly attempt: (facts: AttemptRecord) => void;
  /** One item judged for an alias of ours. */
  readonly verdict: (facts: {
    readonly alias: string;
    readonly isFlagged: boolean;
    readonly isCached: boolean;
  }) => void;
  /** An answer of the judge that held no verdict. */
  readonly unusable: (model: string) => void;
  readonly tokens: (model: string, tokens: { readonly prompt: number; readonly output: number }) => void;
  /** Tells where to read the moment's values from when the metrics are asked for. */
  readonly watch: (read: () => Readings) => void;
  /** Prometheus text, or nothing where this runtime keeps no metrics. */
  readonly text: () => Promise<string | undefined>;
};

/** For runtimes that nobody scrapes. */
export const SILENT_METER: Meter = {
  answered() {},
  attempt() {},
  verdict() {},
  unusable() {},
  tokens() {},
  watch() {},
  text: async () => undefined,
};
