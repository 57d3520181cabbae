import type { AgentEvent, EventDraft } from '../protocol/events.ts';
import type { DirectoryEvent, Store, StoreChange } from '../store/store.ts';

/** Something that happened: what is to be kept of it, and what is to be told. */
export type Publication = {
  readonly changes?: readonly StoreChange[];
  readonly drafts?: readonly EventDraft[];
  /** The lease that it is only kept under. */
  readonly leaseID?: string | undefined;
};

/** Several facts as one: they are kept together, and told in their order. */
export const joinPublications = (...facts: readonly Publication[]): Publication => ({
  changes: facts.flatMap(({ changes = [] }) => changes),
  drafts: facts.flatMap(({ drafts = [] }) => drafts),
  leaseID: facts.find(({ leaseID }) => leaseID !== undefined)?.leaseID,
});

export type EventListener = (placed: DirectoryEvent) => void;

/** Keeps what happens, and only then tells it. */
export type Publisher = {
  /** Settles once the fact is stored and everyone has been told. Facts are told in the order in which they were given. */
  readonly publish: (directory: string, fact: Publication) => Promise<readonly AgentEvent[]>;
  /** Tells what another server has kept. */
  readonly forward: (placed: readonly DirectoryEvent[]) => void;
  /** The returned function ends it, and may be called any number of times. A listener must not throw. */
  readonly subscribe: (listener: EventListener) => () => void;
};

export const createPublisher = (store: Pick<Store, 'commit'>): Publisher => {
  const listeners = new Set<EventListener>();
  let lastDelivery: Promise<unknown> = Promise.resolve();
  const deliver = (placed: readonly DirectoryEvent[]): void => {
    for (const one of placed) for (const listener of [...listeners]) listener(one);
  };
  return {
    async publish(directory, { changes = [], drafts = [], leaseID }) {
      const committing = store.commit(
        changes,
        drafts.map((draft) => ({ directory, draft })),
        leaseID,
      );
      // A store may answer the later of two commits first: whoever listens must not see that.
      const telling = Promise.allSettled([lastDelivery, committing]).then(async () => {
        const placed = await committing;
        deliver(placed);
        return placed.map(({ event }) => event);
      });
      lastDelivery = telling.catch(() => {});
      return telling;
    },
    forward: deliver,
    subscribe(listener) {
      // Wrapped, so that the same function may listen twice and each of them leave alone.
      const own: EventListener = (placed) => listener(placed);
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
};
