import type { Clock } from '../../core/clock.ts';

/** The same clock, with one timer for all tasks of a millisecond: with many streams most have company. */
export const shareTimers = ({ now, after }: Clock): Clock => {
  const timers = new Map<number, { readonly tasks: Set<() => void>; readonly cancel: () => void }>();
  const startTimer = (at: number) => {
    const tasks = new Set<() => void>();
    const cancel = after(at - now(), () => {
      timers.delete(at);
      for (const task of tasks) task();
    });
    const timer = { tasks, cancel };
    timers.set(at, timer);
    return timer;
  };
  return {
    now,
    after(delayMs, task) {
      const at = Math.ceil(now() + Math.max(0, delayMs));
      const timer = timers.get(at) ?? startTimer(at);
      const run = (): void => task();
      timer.tasks.add(run);
      return () => {
        if (!timer.tasks.delete(run) || timer.tasks.size > 0 || timers.get(at) !== timer) return;
        timers.delete(at);
        timer.cancel();
      };
    },
  };
};
