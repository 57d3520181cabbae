import { Fault } from '../core/fault.ts';
import type { Gate } from '../core/semaphore.ts';
import { Problem } from './errors.ts';

/** Waits for a place behind a gate; the returned function gives it back. The `busy` problem when too many wait. */
export const placeBehind = (gate: Gate, signal: AbortSignal): Promise<() => void> =>
  gate.enter(signal).catch((error: unknown) => {
    throw error instanceof Fault && error.detail.kind === 'overloaded' ? new Problem({ kind: 'busy' }) : error;
  });
