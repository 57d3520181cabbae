/**
 * Sets an entry as the newest one of a map that holds at most `limit`, one or more. Deletes the oldest entry if that is too
 * many, and returns its key.
 */
export const setNewest = <Key, Value>(
  map: Map<Key, Value>,
  [key, value]: readonly [Key, Value],
  limit: number,
): Key | undefined => {
  map.delete(key);
  map.set(key, value);
  if (map.size <= limit) return undefined;
  const [oldest] = map.keys();
  if (oldest !== undefined) map.delete(oldest);
  return oldest;
};
