import { Problem } from './errors.ts';

/** Lets one at a time do something about a subject; the others wait in line. */
export type Turns = {
  /**
   * Waits for the subject to be free; the returned function frees it, once. Rejects with the signal's reason, and with
   * the `busy` problem when too many wait.
   */
  readonly take: (subject: string, signal: AbortSignal) => Promise<() => void>;
};

const WAITING_LIMIT = 100;

export const createTurns = (): Turns => {
  /** Who waits for a subject, in order. A subject without an entry is free. */
  const lines = new Map<string, Set<() => void>>();
  let waiting = 0;

  const freeOnce = (subject: string): (() => void) => {
    let isFreed = false;
    return () => {
      if (isFreed) return;
      isFreed = true;
      const line = lines.get(subject);
      const [next] = line ?? [];
      if (next === undefined) lines.delete(subject);
      else next();
    };
  };
  const inLine = (subject: string, line: Set<() => void>, signal: AbortSignal): Promise<() => void> =>
    new Promise((resolve, reject) => {
      const stepOut = () => {
        line.delete(admit);
        waiting -= 1;
        signal.removeEventListener('abort', leave);
      };
      const admit = () => {
        stepOut();
        resolve(freeOnce(subject));
      };
      const leave = () => {
        stepOut();
        reject(signal.reason);
      };
      line.add(admit);
      waiting += 1;
      signal.addEventListener('abort', leave, { once: true });
    });

  return {
    async take(subject, signal) {
      signal.throwIfAborted();
      const line = lines.get(subject);
      if (line === undefined) {
        lines.set(subject, new Set());
        return freeOnce(subject);
      }
      if (waiting >= WAITING_LIMIT) throw new Problem({ kind: 'busy' });
      return inLine(subject, line, signal);
    },
  };
};
