import type { AgentEvent, EventDraft } from '../protocol/events.ts';
import type { Change, PlacedEvent, Store } from '../store/store.ts';

/** Something that happened: what is to be kept of it, and what is to be told. */
export type Fact = {
  readonly changes?: readonly Change[];
  readonly drafts?: readonly EventDraft[];
  /** The lease that it is only kept under. */
  readonly under?: string | undefined;
};

/** Several facts as one: they are kept together, and told in their order. */
export const joined = (...facts: readonly Fact[]): Fact => ({
  changes: facts.flatMap(({ changes = [] }) => changes),
  drafts: facts.flatMap(({ drafts = [] }) => drafts),
  under: facts.find(({ under }) => under !== undefined)?.under,
});

export type Listener = (placed: PlacedEvent) => void;

/** Keeps what happens, and only then tells it. */
export type Publisher = {
  /** Settles once the fact is stored and everyone has been told. Facts are told in the order in which they were given. */
  readonly publish: (directory: string, fact: Fact) => Promise<readonly AgentEvent[]>;
  /** Tells what another server has kept. */
  readonly hear: (placed: readonly PlacedEvent[]) => void;
  /** The returned function ends it, and may be called any number of times. A listener must not throw. */
  readonly subscribe: (listener: Listener) => () => void;
};

export const createPublisher = (store: Pick<Store, 'commit'>): Publisher => {
  const listeners = new Set<Listener>();
  let lastTold: Promise<unknown> = Promise.resolve();
  const tell = (placed: readonly PlacedEvent[]): void => {
    for (const one of placed) for (const listener of [...listeners]) listener(one);
  };
  return {
    async publish(directory, { changes = [], drafts = [], under }) {
      const committing = store.commit(
        changes,
        drafts.map((draft) => ({ directory, draft })),
        under,
      );
      // A store may answer the later of two commits first: whoever listens must not see that.
      const telling = Promise.allSettled([lastTold, committing]).then(async () => {
        const placed = await committing;
        tell(placed);
        return placed.map(({ event }) => event);
      });
      lastTold = telling.catch(() => {});
      return telling;
    },
    hear: tell,
    subscribe(listener) {
      // Wrapped, so that the same function may listen twice and each of them leave alone.
      const own: Listener = (placed) => listener(placed);
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
};
