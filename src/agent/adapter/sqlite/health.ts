import type { StoreHealth } from '../../store/cluster.ts';
import { isStoreFailure, type StoreTrouble } from '../../store/errors.ts';
import { toStoreError } from './errors.ts';

type SqliteHealthNeeds = {
  /** How often a store that failed is tried again. */
  readonly everyMs: number;
  /** Writes something that needs space, and removes it again. */
  readonly probe: () => Promise<unknown>;
};

type SqliteHealth = StoreHealth & {
  /** Remembers what an error says about the store. Returns the error that the caller is to get. */
  readonly note: (error: unknown) => unknown;
  readonly close: () => void;
};

/**
 * Whether a store in a file works. One that failed is probed until it does: a small write may fit where a prompt does not, so
 * other writes prove nothing. A damaged one stays so: it needs a person, and a restart.
 */
export const createSqliteHealth = ({ everyMs, probe }: SqliteHealthNeeds): SqliteHealth => {
  const listeners: (() => void)[] = [];
  let trouble: StoreTrouble | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;
  const schedule = (): void => {
    if (timer !== undefined || isClosed || trouble === 'damaged') return;
    timer = setTimeout(() => void check(), everyMs);
    timer.unref();
  };
  const check = async (): Promise<void> => {
    try {
      await probe();
      if (trouble === 'damaged' || isClosed) return;
      trouble = undefined;
      for (const listener of listeners) listener();
    } catch {
      // The write has noted why it failed.
    } finally {
      timer = undefined;
      if (trouble !== undefined) schedule();
    }
  };
  return {
    trouble: () => trouble,
    onWorking: (listener) => void listeners.push(listener),
    note(error) {
      const known = toStoreError(error);
      if (!isStoreFailure(known)) return error;
      if (trouble !== 'damaged') trouble = known.trouble;
      schedule();
      return known;
    },
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
};
