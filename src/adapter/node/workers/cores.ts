import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** Where the kernel writes what a container may use: version 2 of cgroups in one file, version 1 in two. */
const QUOTA_FILES = [
  ['/sys/fs/cgroup/cpu.max'],
  ['/sys/fs/cgroup/cpu/cpu.cfs_quota_us', '/sys/fs/cgroup/cpu/cpu.cfs_period_us'],
] as const;

const readOrNothing = (file: string): string => {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
};

/** The cores of a quota `<microseconds> <period in microseconds>`, such as 1.5; undefined without one (`max`, `-1`, nothing). */
export const coresOfQuota = (text: string): number | undefined => {
  const [, quota, period] = /^(\d+)\s+(\d+)$/.exec(text) ?? [];
  const cores = Number(quota) / Number(period);
  return Number.isFinite(cores) && cores > 0 ? cores : undefined;
};

/** The whole cores that this process may use: those it may run on, and no more than the container's quota. At least 1. */
export const usableCores = (read: (file: string) => string = readOrNothing): number => {
  const quotas = QUOTA_FILES.map((files) => coresOfQuota(files.map(read).join(' ')) ?? Number.POSITIVE_INFINITY);
  return Math.max(1, Math.floor(Math.min(availableParallelism(), ...quotas)));
};
