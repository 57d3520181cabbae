/** Redis took too long. A class of its own, because the client's own timeout error has no code. */
export class RedisTimeout extends Error {
  override readonly name = 'RedisTimeout';
}

type Turn = { readonly waiting: Set<() => void>; cancel: () => void };

/**
 * Gives commands a time limit, which begins when they are sent: at the end of this turn of the event loop, with all others of the
 * turn. They have one timer. An event loop that was blocked runs its timers before it reads from sockets, so an answer that has
 * arrived gets one more turn. What is returned settles like the answer, or rejects with a `RedisTimeout`.
 */
export const createTimeLimit = (
  limitMs: number,
  after: (delayMs: number, task: () => void) => () => void,
): (<T>(answer: Promise<T>) => Promise<T>) => {
  let current: Turn | undefined;
  const beginTurn = (): Turn => {
    const turn: Turn = { waiting: new Set(), cancel() {} };
    const giveUp = (): void => {
      for (const reject of turn.waiting) reject();
    };
    setImmediate(() => {
      current = undefined;
      if (turn.waiting.size > 0) turn.cancel = after(limitMs, () => setImmediate(giveUp));
    });
    return turn;
  };
  return (answer) =>
    new Promise((resolve, reject) => {
      current ??= beginTurn();
      const turn = current;
      const giveUp = (): void => reject(new RedisTimeout('No answer in time'));
      turn.waiting.add(giveUp);
      const settle = (): void => {
        turn.waiting.delete(giveUp);
        if (turn.waiting.size === 0) turn.cancel();
      };
      answer.then(
        (value) => {
          settle();
          resolve(value);
        },
        (error: unknown) => {
          settle();
          reject(error);
        },
      );
    });
};
