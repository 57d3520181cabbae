import { totalmem } from 'node:os';
import { getHeapStatistics } from 'node:v8';

/**
 * The memory that this process may use, in bytes: the least of V8's heap limit (`--max-old-space-size`) and its part of the
 * limit of the container (cgroup) and of the machine's memory, which `processes` of its kind share. Runtimes that do not know
 * one of them answer 0 or nothing.
 */
export const usableMemoryBytes = (processes = 1): number => {
  const shared = [process.constrainedMemory?.(), totalmem()].map((bytes) => (bytes ?? 0) / processes);
  const limits = [getHeapStatistics().heap_size_limit, ...shared];
  return Math.floor(Math.min(...limits.filter((bytes) => bytes > 0)));
};
