import { type Signal, signal } from '@preact/signals';
import { ApiError } from '../api/request.ts';

/** Calls of the API of which the newest counts. */
export type Loader = {
  /** Why the last try failed. */
  readonly failure: Signal<ApiError | undefined>;
  readonly isLoading: Signal<boolean>;
  /** Fetches, and hands on what came. A later call ends an earlier one. Never rejects. */
  readonly run: <Value>(
    fetchValue: (signal: AbortSignal) => Promise<Value>,
    take: (value: Value) => void,
  ) => Promise<void>;
  /** Ends a call that runs. */
  readonly stop: () => void;
};

/** Nothing is fetched before the first `run`. */
export const createLoader = (): Loader => {
  const failure = signal<ApiError | undefined>(undefined);
  const isLoading = signal(false);
  let running: AbortController | undefined;
  return {
    failure,
    isLoading,
    async run(fetchValue, take) {
      running?.abort();
      const mine = new AbortController();
      running = mine;
      isLoading.value = true;
      try {
        const value = await fetchValue(mine.signal);
        if (mine.signal.aborted) return;
        take(value);
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

/** Something that is loaded from the API: its last value stays shown while it is loaded again. */
export type Resource<Value> = Omit<Loader, 'run'> & {
  readonly value: Signal<Value | undefined>;
  /** Loads it, again if need be. Never rejects. */
  readonly load: () => Promise<void>;
};

/** What `load` fetches, with its state. */
export const createResource = <Value>(fetchValue: (signal: AbortSignal) => Promise<Value>): Resource<Value> => {
  const { run, ...loader } = createLoader();
  const value = signal<Value | undefined>(undefined);
  const load = (): Promise<void> =>
    run(fetchValue, (fetched) => {
      value.value = fetched;
    });
  return { ...loader, value, load };
};
