import { Fault } from '../../../src/core/fault.ts';
import { createKeyedQueue } from '../../../src/core/keyed-queue.ts';

/** What a caller gets when too many wait. */
export class QueueFull extends Error {}

/** Of a caller that never leaves. */
export const NEVER = new AbortController().signal;
/** The reason of a caller that leaves. */
export const LEFT = new Fault({ kind: 'client-left' });
/** So many may wait. */
export const LIMIT = 100;

/** A queue in which `LIMIT` may wait. */
export const createTurns = () => createKeyedQueue({ count: LIMIT, per: 'queue', createError: () => new QueueFull() });

/** Every microtask that is ready runs before it is over. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
