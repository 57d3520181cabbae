import * as assert from 'uvu/assert';
import { STOP_SIGNALS } from '../../../src/adapter/node/signals.ts';
import { createStopSignals } from '../../../src/main/demo/signals.ts';
import { describe } from '../../check.ts';

/** Runs the body, and takes away every listener that it has put on this process. */
const withoutTraces = (body: () => void): void => {
  const places: readonly (readonly [NodeJS.EventEmitter, string])[] = [
    ...STOP_SIGNALS.map((name) => [process, name] as const),
    [process.stdout, 'error'],
    [process.stderr, 'error'],
  ];
  const before = places.map(([emitter, name]) => emitter.rawListeners(name));
  try {
    body();
  } finally {
    for (const [index, [emitter, name]] of places.entries())
      for (const listener of emitter.rawListeners(name))
        if (!before[index]?.includes(listener)) emitter.removeListener(name, listener as () => void);
  }
};

describe('a signal to stop the demo', (check) => {
  check('is told at once, and once', () =>
    withoutTraces(() => {
      let told = 0;
      const { stopping, forced } = createStopSignals(() => {
        told++;
      });
      assert.equal([told, stopping.aborted], [0, false]);
      process.emit('SIGINT');
      // As a terminal and npm send one Ctrl-C twice.
      process.emit('SIGINT');
      assert.equal([told, stopping.aborted, forced.aborted], [1, true, false]);
    }),
  );
});
