import type { Signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { returns } from './live.ts';
import type { Resource } from './resource.ts';

/** Loads a resource while a view is shown: when it appears, when the console is back, and when one of `reasons` has changed. */
export const useResource = (resource: Resource<unknown>, ...reasons: readonly unknown[]): void => {
  useEffect(() => {
    void resource.load();
    return resource.stop;
  }, [resource, returns.value, ...reasons]);
};

/** Loads again and again while the page is visible, but not while it still loads. Never without `everyMs`. */
export const usePolling = (
  load: () => Promise<void>,
  isLoading: Signal<boolean>,
  everyMs: number | undefined,
): void => {
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible' && !isLoading.peek()) void load();
    }, everyMs);
    return () => clearInterval(timer);
  }, [load, everyMs]);
};
