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
