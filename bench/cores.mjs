import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

/** The cores that this process may use, by number; where the system does not tell them, as many as it says there are. */
export const allowedCpus = () => {
  try {
    const [, list] = /^Cpus_allowed_list:\s+(\S+)/m.exec(readFileSync('/proc/self/status', 'utf8'));
    return list.split(',').flatMap((range) => {
      const [first, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
  } catch {
    return Array.from({ length: availableParallelism() }, (_, index) => index);
  }
};

/**
 * Where the parts of a measurement run. The load and the fake model share the last core. Each server gets one of the others,
 * and what stands behind the servers (a database, an agent server) gets those that are left. Where there are too few, servers
 * share theirs, and what is behind them runs beside the load.
 */
export const coresFor = (serverCount, cpus = allowedCpus()) => {
  const load = cpus.at(-1);
  const others = cpus.length === 1 ? cpus : cpus.slice(0, -1);
  const left = others.slice(serverCount);
  return {
    servers: Array.from({ length: serverCount }, (_, index) => others[index % others.length]),
    behind: left.length === 0 ? String(load) : left.join(','),
    load,
    /** Whether no two servers share a core, and none runs beside the load. */
    isOneEach: cpus.length > serverCount,
  };
};
