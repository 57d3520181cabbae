/**
 * Something that is loaded when it is first asked for, and once. What could not be loaded may be there for whoever asks
 * next.
 */
export const late = <Value>(load: () => Promise<Value>): (() => Promise<Value>) => {
  let loaded: Promise<Value> | undefined;
  return () => {
    loaded ??= load();
    loaded.catch(() => {
      loaded = undefined;
    });
    return loaded;
  };
};
