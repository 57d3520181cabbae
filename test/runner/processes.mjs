import { readdirSync, readFileSync } from 'node:fs';

/** Processor time of all processes that have ended, with those that they have waited for; 0 where there is no /proc. */
export const endedProcessorMs = () => {
  try {
    // utime is the 12th value behind the name in brackets; those of ended children are the 14th and 15th, in ticks of 10 ms.
    const values = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1).split(' ');
    return (Number(values[13]) + Number(values[14])) * 10;
  } catch {
    return 0;
  }
};
/** What a process has started, and what that has started, also in groups of their own; nothing where there is no /proc. */
export const descendantsOf = (pid) => {
  try {
    const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
    );
    return children.flatMap((child) => [child, ...descendantsOf(child)]);
  } catch {
    return [];
  }
};
export const kill = (pid, signal) => {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended by itself.
  }
};
