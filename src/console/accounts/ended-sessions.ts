import * as v from 'valibot';
import { setNewest } from '../../core/bounded-map.ts';
import { parseJson } from '../../core/json.ts';
import type { Runtime } from '../../core/runtime.ts';

/** How long a login lasts. */
export const SESSION_LIFETIME_MS = 12 * 3_600_000;

/** Lines that outlive the process. Several processes may add to them. */
export type LogoutFile = {
  /** Resolves once the line would survive a power cut. After `endsAt` nobody needs it. */
  readonly append: (line: string, endsAt: number) => Promise<void>;
  /** The whole lines that any process has added since the last call. */
  readonly readNew: () => Promise<readonly string[]>;
};

/** Which sessions were logged out. Where their file fails, it is those that this process knows, and the log says so. */
export type EndedSessions = {
  readonly has: (id: string) => Promise<boolean>;
  /** Resolves once it is kept, or cannot be. */
  readonly add: (id: string) => Promise<void>;
};

/** Only those who were logged in can fill it. */
const LIMIT = 10_000;

const Logout = v.object({ id: v.string(), ends: v.number() });

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'unknown');

/** `file`: undefined where they are forgotten when the process ends. */
export const createEndedSessions = (
  file: LogoutFile | undefined,
  { clock, log }: Pick<Runtime, 'clock' | 'log'>,
): EndedSessions => {
  const ended = new Map<string, number>();
  /** Why the file was not read the last time. */
  let unread: string | undefined;
  /** Each reading waits for the one before it, which may have taken lines from the file and not noted them yet. */
  let reading = Promise.resolve();
  const readOnce = async (): Promise<void> => {
    for (const line of (await file?.readNew()) ?? []) {
      const logout = parseJson(Logout, line);
      if (logout !== undefined && logout.ends > clock.now()) setNewest(ended, [logout.id, logout.ends], LIMIT);
    }
  };
  const readNew = (): Promise<void> => {
    reading = reading.catch(() => {}).then(readOnce);
    return reading;
  };
  return {
    async has(id) {
      try {
        await readNew();
        unread = undefined;
      } catch (error) {
        const reason = reasonOf(error);
        if (reason !== unread) log('warn', 'logouts-not-read', { reason });
        unread = reason;
      }
      return ended.has(id);
    },
    async add(id) {
      const ends = clock.now() + SESSION_LIFETIME_MS;
      for (const [other, endsAt] of ended) if (endsAt <= clock.now()) ended.delete(other);
      setNewest(ended, [id, ends], LIMIT);
      try {
        await file?.append(JSON.stringify({ id, ends }), ends);
      } catch (error) {
        log('warn', 'logout-not-kept', { reason: reasonOf(error) });
      }
    },
  };
};
