import type { ByteBudget } from '../core/byte-budget.ts';
import type { CompileSchema } from '../core/json.ts';
import type { Runtime } from '../core/runtime.ts';
import type { AgentCatalog } from './agents/catalog.ts';
import type { OutputLimits } from './config/types.ts';
import type { Publisher } from './events/publisher.ts';
import type { AgentMetrics } from './metrics.ts';
import type { Ids } from './protocol/ids.ts';
import type { Peers } from './store/cluster.ts';
import type { Store } from './store/store.ts';

/** What all parts of the agent server use. It is created once, before them, and handed on whole. */
export type AgentRuntime = Runtime & {
  readonly ids: Ids;
  /** From 0 to 1, for spreading what is tried again. */
  readonly chance: () => number;
  /** SHA-256 in hexadecimal. */
  readonly digest: (text: string) => string;
  readonly compileSchema: CompileSchema;
  readonly version: string;
  /** Where sessions are unless a request says otherwise. */
  readonly directory: string;
  readonly store: Store;
  /** Other servers on the same store. */
  readonly peers: Peers;
  readonly publisher: Publisher;
  readonly catalog: AgentCatalog;
  readonly metrics: AgentMetrics;
  readonly outputLimits: OutputLimits;
  /** How long the results of client tools are waited for. */
  readonly clientToolTimeoutMs: number;
  /** Limits the messages that all model calls together hold. */
  readonly budget: ByteBudget;
  /** The largest session that may grow further. */
  readonly sessionLimitBytes: number;
  /** Aborts when the server stops. */
  readonly ending: AbortSignal;
  /** Takes failures that no caller sees. */
  readonly onBug: (error: unknown) => void;
};
