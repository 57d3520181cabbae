import { untilAborted } from '../../core/async.ts';
import { createSemaphore } from '../../core/semaphore.ts';
import type { AgentClient } from './types.ts';

/** All messages of a session have up to 64 MiB: so many read at a time. */
const READS_AT_A_TIME = 8;

type SharedRead<T> = (signal: AbortSignal) => Promise<T>;

/** One read at a time. Who joins while one runs shares the next one, so that no one gets what is older than the call. */
const createSharedRead = <T>(
  read: (isWanted: () => boolean) => Promise<T>,
  onIdle: () => void = () => {},
): SharedRead<T> => {
  let running: Promise<T> | undefined;
  let next: { readonly signals: Set<AbortSignal>; readonly result: Promise<T> } | undefined;
  const start = (signals: ReadonlySet<AbortSignal>): Promise<T> => {
    const started = read(() => [...signals].some(({ aborted }) => !aborted));
    running = started;
    const end = (): void => {
      running = undefined;
      if (next === undefined) onIdle();
    };
    started.then(end, end);
    return started;
  };
  const afterRunning = (current: Promise<T> | undefined) => {
    const signals = new Set<AbortSignal>();
    const begin = (): Promise<T> => {
      next = undefined;
      return start(signals);
    };
    return { signals, result: Promise.resolve(current).then(begin, begin) };
  };
  return (signal) => {
    // One that is about to begin, after the one that has just ended, is young enough.
    if (next === undefined && running === undefined) return untilAborted(start(new Set([signal])), signal);
    next ??= afterRunning(running);
    next.signals.add(signal);
    return untilAborted(next.result, signal);
  };
};

/**
 * The same client with reads that are shared and limited: hundreds of turns read at the same moment when events are lost
 * or a server ends, and clients look at their responses as often as they like. Callers of the same list share it. A call that is aborted leaves the read to the others.
 */
export const shareReads = (agent: AgentClient): AgentClient => {
  const never = new AbortController().signal;
  const semaphore = createSemaphore(READS_AT_A_TIME, Number.POSITIVE_INFINITY);
  const busySessions = createSharedRead(() => agent.busySessions(never));
  const messages = new Map<string, SharedRead<Awaited<ReturnType<AgentClient['messages']>>>>();
  const messagesOf = (sessionID: string) => {
    const known = messages.get(sessionID);
    if (known !== undefined) return known;
    const shared = createSharedRead(
      async (isWanted) => {
        const release = await semaphore.acquire(never);
        try {
          // Those who waited for it may have ended meanwhile: then no caller gets this.
          return isWanted() ? await agent.messages(sessionID, never) : [];
        } finally {
          release();
        }
      },
      () => void messages.delete(sessionID),
    );
    messages.set(sessionID, shared);
    return shared;
  };
  return {
    ...agent,
    busySessions,
    messages: (sessionID, signal) => messagesOf(sessionID)(signal),
  };
};
