import { type Signal, signal } from '@preact/signals';
import { ApiError } from '../api/request.ts';

/** Something that is loaded from the API: its last value stays shown while it is loaded again. */
export type Resource<Value> = {
  readonly value: Signal<Value | undefined>;
  /** Why the last try failed. */
  readonly failure: Signal<ApiError | undefined>;
  readonly isLoading: Signal<boolean>;
  /** Loads it, again if need be. A later call ends an earlier one. Never rejects. */
  readonly load: () => Promise<void>;
  /** Ends a call that runs. */
  readonly stop: () => void;
};

/** What `load` fetches, with its state. Nothing is fetched before the first `load`. */
export const createResource = <Value>(fetchValue: (signal: AbortSignal) => Promise<Value>): Resource<Value> => {
  const value = signal<Value | undefined>(undefined);
  const failure = signal<ApiError | undefined>(undefined);
  const isLoading = signal(false);
  let running: AbortController | undefined;
  return {
    value,
    failure,
    isLoading,
    async load() {
      running?.abort();
      const mine = new AbortController();
      running = mine;
      isLoading.value = true;
      try {
        const fetched = await fetchValue(mine.signal);
        if (mine.signal.aborted) return;
        value.value = fetched;
        failure.value = undefined;
      } catch (error) {
        if (mine.signal.aborted) return;
        failure.value = error instanceof ApiError ? error : new ApiError(0, String(error));
      }
      isLoading.value = false;
    },
    stop() {
      running?.abort();
      isLoading.value = false;
    },
  };
};
