import type { HttpClient } from '../../../../src/core/http/client.ts';

/** Something that waits until it is let go on. */
export const createHold = () => {
  let letGo = (): void => {};
  const released = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  let isReached = false;
  return {
    isReached: () => isReached,
    letGo: () => letGo(),
    wait() {
      isReached = true;
      return released;
    },
  };
};

/** Holds the requests of a method back until they are let through. */
export const holding =
  (hold: ReturnType<typeof createHold>, method: 'GET' | 'POST', when: 'before' | 'after' = 'before') =>
  (direct: HttpClient): HttpClient =>
  async (sent) => {
    if (sent.method === method && when === 'before') await hold.wait();
    sent.signal.throwIfAborted();
    const received = await direct(sent);
    if (sent.method === method && when === 'after') await hold.wait();
    return received;
  };
