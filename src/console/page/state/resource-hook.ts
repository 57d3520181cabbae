import { useEffect } from 'preact/hooks';
import type { Resource } from './resource.ts';

/** Loads a resource while a view is shown: when it appears, and again when one of `reasons` has changed. */
export const useResource = (resource: Resource<unknown>, ...reasons: readonly unknown[]): void => {
  useEffect(() => {
    void resource.load();
    return resource.stop;
  }, [resource, ...reasons]);
};
