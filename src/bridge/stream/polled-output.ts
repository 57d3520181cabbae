import type { OutputEvent } from '../output.ts';

/**
 * The events of an answer, read without waiting. What streams an answer looks when it is time to send: a promise for each event
 * and each part on its way would cost more than the event.
 */
export type PolledOutput = {
  /**
   * The next event that is there. Undefined where there is none now, or none will come. Throws what its source failed with,
   * after all events before that.
   */
  readonly poll: () => OutputEvent | undefined;
  /** Whether no event will come any more; known after a `poll` that found none. */
  readonly isOver: () => boolean;
  /** Calls the one listener whenever there may be more, or it is over. It must not throw and must not poll at once. */
  readonly onChange: (listener: () => void) => void;
  /** Ends the reading. Later calls change nothing. */
  readonly stop: () => void;
};

/** The same events for a reader that waits for each. Stops the reading at its end. */
export async function* waitForEach(output: PolledOutput): AsyncGenerator<OutputEvent, void> {
  let changed = Promise.withResolvers<void>();
  output.onChange(() => changed.resolve());
  try {
    for (;;) {
      const event = output.poll();
      if (event !== undefined) yield event;
      else if (output.isOver()) return;
      else {
        await changed.promise;
        changed = Promise.withResolvers();
      }
    }
  } finally {
    output.stop();
  }
}
