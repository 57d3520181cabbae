import type { WriteStream } from 'node:tty';
import { SingleBar } from 'cli-progress';
import type { Clock } from '../core/clock.ts';
import { counted } from '../eval/counted.ts';
import type { Progress } from '../eval/evaluate.ts';

const LINE_EVERY_MS = 5000;

/** A bar that redraws itself, for a terminal only. */
export const createBar = (stream: WriteStream): Progress => {
  const bar = new SingleBar({
    format: '{bar} {value}/{total}, errors: {errors}, {eta_formatted} to go',
    stream,
    clearOnComplete: true,
    barCompleteChar: '#',
    barIncompleteChar: '.',
  });
  return {
    start: (total, done) => bar.start(total, done, { errors: 0 }),
    advance: (done, errors) => bar.update(done, { errors }),
    stop: () => bar.stop(),
  };
};

/** A plain line every few seconds, for logs. */
export const createLines = (write: (line: string) => void, clock: Clock): Progress => {
  let total = 0;
  let writtenAt = clock.now();
  return {
    start(rows) {
      total = rows;
      writtenAt = clock.now();
    },
    advance(done, errors) {
      if (clock.now() - writtenAt < LINE_EVERY_MS) return;
      writtenAt = clock.now();
      write(`${done} of ${total}, ${counted(errors, 'error')}\n`);
    },
    stop() {},
  };
};
