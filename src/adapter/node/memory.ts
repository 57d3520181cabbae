import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/**
 * The memory that this process may use, in bytes: the least of V8's heap limit (`--max-old-space-size`), the limit
 * of the container (cgroup) and the machine's memory. Runtimes that do not know one of them answer 0 or nothing.
 */
export const usableMemoryBytes = (): number => {
  const limits = [getHeapStatistics().heap_size_limit, process.constrainedMemory?.() ?? 0, totalmem()];
  return Math.min(...limits.filter((bytes) => bytes > 0));
};
