// The program of the thread that makes views. It shares nothing with the process but messages.
import { constants, setPriority } from 'node:os';
import { parentPort } from 'node:worker_threads';
import { createTimeSlices } from '../../../core/time-slices.ts';
import { createViews } from '../../text/decode.ts';
import type { ThreadAnswer, ThreadQuestion } from './messages.ts';

/** Between two slices the thread reads its messages. A timer would leave it idle for a millisecond each time. */
const runInSlices = createTimeSlices({
  now: () => performance.now(),
  after(_, task) {
    const turn = setImmediate(task);
    return () => clearImmediate(turn);
  },
});

/** On Linux priorities belong to threads. Where both share a core, the event loop goes first. */
const giveWay = (): void => {
  try {
    if (process.platform === 'linux') setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  } catch {
    // A sandbox may forbid it: then they share the core equally.
  }
};

const answer = (message: ThreadAnswer): void => parentPort?.postMessage(message);
const running = new Map<number, AbortController>();

const make = async (id: number, text: string, owner: string): Promise<void> => {
  const controller = new AbortController();
  running.set(id, controller);
  try {
    answer({ id, views: await runInSlices(createViews(text), controller.signal, owner) });
  } catch (error) {
    answer(controller.signal.aborted ? { id } : { id, error });
  } finally {
    running.delete(id);
  }
};

parentPort?.on('message', ({ id, text, owner = '' }: ThreadQuestion) => {
  if (text === undefined) running.get(id)?.abort();
  else void make(id, text, owner);
});
giveWay();
answer({});
