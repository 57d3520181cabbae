import type { AnsweredRequest } from '../core/http/handler.ts';
import type { BreakerStatus } from '../llm/breaker.ts';
import type { AttemptRecord } from '../llm/failover.ts';
import type { KeyStatus } from '../llm/key-state.ts';

/** The gateway's current values. Keys appear by fingerprint only. */
export type GatewayReadings = {
  readonly keys: readonly KeyStatus[];
  readonly breaker: BreakerStatus;
  readonly callsRunning: number;
  readonly callsWaiting: number;
  /** How many may wait; a further one is refused. */
  readonly callsWaitingLimit: number;
  readonly cachedVerdicts: number;
  /** The size of what the requests in flight hold. */
  readonly bytesInFlight: number;
  /** Large texts that are decoded, or wait for that. */
  readonly largeTexts: number;
};

/** Where large texts are decoded: in a thread of their own, or in slices of the event loop. */
type DecodingPlace = 'thread' | 'event-loop';

/** What came of a text that the shadow was to judge too. `skipped`: it had no place for it, or was interrupted. */
export type ShadowOutcome = 'agreed' | 'differed' | 'failed' | 'skipped';
/** Which of the live judge and its shadow find a violation. */
export type FoundBy = 'both' | 'live' | 'shadow';

/** Counts events. No method takes a text or a key, so none can end up in a label. Never throws. */
export type GatewayMetrics = {
  readonly answered: (answered: AnsweredRequest) => void;
  readonly attempt: (attempt: AttemptRecord) => void;
  /** One judged item. */
  readonly verdict: (verdict: {
    readonly alias: string;
    readonly isFlagged: boolean;
    readonly isCached: boolean;
  }) => void;
  /** One request that was answered as flagged without a verdict. `reason`: the code that its error has. */
  readonly flaggedWithoutVerdict: (reason: string) => void;
  /** One answer of the judge without a usable verdict. */
  readonly unusable: (model: string) => void;
  /** One text of the shadow's share. */
  readonly shadow: (outcome: ShadowOutcome) => void;
  /** One category in which the live judge, its shadow or both find a violation. */
  readonly shadowFound: (category: string, foundBy: FoundBy) => void;
  /** `cached`: how many of the prompt the backend found in its cache, where it reports that. */
  readonly tokens: (
    model: string,
    tokens: { readonly prompt: number; readonly output: number; readonly cached?: number | undefined },
  ) => void;
  /** One large text that was decoded: where, and the time that it took, waiting included. */
  readonly largeText: (decoded: { readonly place: DecodingPlace; readonly durationMs: number }) => void;
  /** Sets the source of the current values, read on every scrape. */
  readonly watch: (read: () => GatewayReadings) => void;
  /** Prometheus text; undefined where this runtime keeps no metrics. */
  readonly text: () => Promise<string | undefined>;
};

/** For runtimes without metrics. */
export const SILENT_GATEWAY_METRICS: GatewayMetrics = {
  answered() {},
  attempt() {},
  verdict() {},
  flaggedWithoutVerdict() {},
  unusable() {},
  shadow() {},
  shadowFound() {},
  tokens() {},
  largeText() {},
  watch() {},
  text: async () => undefined,
};
