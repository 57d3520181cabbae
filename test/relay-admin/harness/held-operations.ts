/** A process as the world outside sees it: its operations, until it is killed. */
export type Life = { readonly name: string; isAlive: boolean; readonly end: AbortController };

export const createLife = (name: string): Life => ({ name, isAlive: true, end: new AbortController() });

type Operation<T> = {
  readonly label: string;
  /** Does it, and answers. Done at most once. */
  readonly effect: () => Promise<T>;
  /** What is left of it when its process is killed first: from 0, nothing at all, to 1, everything but the answer. */
  readonly remainder: (share: number) => void;
  /** Whoever asked stops waiting; the operation itself may still be done later, as a request on the wire is. */
  readonly signal?: AbortSignal;
};

type Held = {
  readonly life: Life;
  readonly label: string;
  readonly go: () => void;
  readonly cut: (share: number) => void;
};

export type HeldOperations = {
  /** Labels of what waits, in order: `read`, and then `read answers`. */
  readonly waiting: () => readonly string[];
  readonly hold: <T>(life: Life, operation: Operation<T>) => Promise<T>;
  /** Lets one of them go on, whichever `pick` falls on. */
  readonly release: (pick: number) => void;
  /** From now on nothing the process has asked for is answered, and nothing that it asks for is done. */
  readonly kill: (life: Life, shares: readonly number[]) => void;
};

/** Holds every operation back twice, before its effect and before its answer, until a test lets it go on. */
export const createHeldOperations = (): HeldOperations => {
  let held: Held[] = [];
  const add = (one: Held): void => {
    if (one.life.isAlive) held.push(one);
  };
  return {
    waiting: () => held.map(({ label }) => label),
    hold: <T>(life: Life, { label, effect, remainder, signal }: Operation<T>) =>
      new Promise<T>((resolve, reject) => {
        const leave = () => {
          if (life.isAlive) reject(signal?.reason);
        };
        signal?.addEventListener('abort', leave, { once: true });
        const answer = (go: () => void) => {
          signal?.removeEventListener('abort', leave);
          add({ life, label: `${life.name} ${label} answers`, go, cut: () => {} });
        };
        const go = () =>
          void effect().then(
            (value) => answer(() => resolve(value)),
            (error: unknown) => answer(() => reject(error)),
          );
        add({ life, label: `${life.name} ${label}`, go, cut: remainder });
      }),
    release(pick) {
      if (held.length > 0) held.splice(pick % held.length, 1)[0]?.go();
    },
    kill(life, shares) {
      const own = held.filter((one) => one.life === life);
      held = held.filter((one) => one.life !== life);
      life.isAlive = false;
      life.end.abort();
      own.forEach((one, index) => {
        one.cut(shares[index % shares.length] ?? 0);
      });
    },
  };
};
