import type { AgentEvent, EventDraft } from '../protocol/events.ts';
import type { DirectoryEvent, LeaseRequest, Store, StoreChange } from '../store/store.ts';

/** Changes to store and events to send, which belong together. */
export type Publication = {
  readonly changes?: readonly StoreChange[];
  readonly drafts?: readonly EventDraft[];
  /** The session lease under which alone it is stored. */
  readonly leaseID?: string | undefined;
  /** Asks for the session's lease with the same commit. */
  readonly leaseRequest?: LeaseRequest | undefined;
};

/** Several publications as one: stored together, and sent in their order. */
export const joinPublications = (...publications: readonly Publication[]): Publication => ({
  changes: publications.flatMap(({ changes = [] }) => changes),
  drafts: publications.flatMap(({ drafts = [] }) => drafts),
  leaseID: publications.find(({ leaseID }) => leaseID !== undefined)?.leaseID,
});

/** Receives each event once it is stored. It must not throw. */
type EventListener = (event: DirectoryEvent) => void;

/** Stores changes and events, and sends the events only then. */
export type Publisher = {
  /** Settles once it is stored and every listener was called. Events are sent in the order of the calls. */
  readonly publish: (directory: string, publication: Publication) => Promise<readonly AgentEvent[]>;
  /** Sends events that another server has stored. */
  readonly forward: (events: readonly DirectoryEvent[]) => void;
  /** The returned function unsubscribes, and may be called any number of times. */
  readonly subscribe: (listener: EventListener) => () => void;
};

/** A publisher whose events go to the listeners of this process. */
export const createPublisher = (store: Pick<Store, 'commit'>): Publisher => {
  const listeners = new Set<EventListener>();
  let lastDelivery: Promise<unknown> = Promise.resolve();
  const deliver = (events: readonly DirectoryEvent[]): void => {
    for (const event of events) for (const listener of [...listeners]) listener(event);
  };
  return {
    async publish(directory, { changes = [], drafts = [], leaseID, leaseRequest }) {
      const committing = store.commit(
        changes,
        drafts.map((draft) => ({ directory, draft })),
        leaseID,
        leaseRequest,
      );
      // A store may answer the later of two commits first. Listeners must see them in order all the same.
      const delivery = Promise.allSettled([lastDelivery, committing]).then(async () => {
        const events = await committing;
        deliver(events);
        return events.map(({ event }) => event);
      });
      lastDelivery = delivery.catch(() => {});
      return delivery;
    },
    forward: deliver,
    subscribe(listener) {
      // Wrapped, so that the same function may subscribe twice and unsubscribe one of them.
      const own: EventListener = (event) => listener(event);
      listeners.add(own);
      return () => void listeners.delete(own);
    },
  };
};
