import type { SessionStatus } from '../../../src/agent/protocol/types.ts';
import {
  createSingleServer,
  type PeerListener,
  type Peers,
  type SessionLease,
} from '../../../src/agent/store/cluster.ts';
import type { DirectoryEvent, Store } from '../../../src/agent/store/store.ts';
import type { Clock } from '../../../src/core/clock.ts';

/** What one server of the cluster has of the store, of the others and of time, until it vanishes: then nothing of it happens any more. */
export type ClusterMember = {
  readonly store: Store;
  readonly peers: Peers;
  readonly clock: Clock;
  readonly isGone: () => boolean;
  /** Is killed. The others notice it after a moment. */
  readonly vanish: () => void;
};

type Member = { isGone: boolean; isBuried: boolean; listener: PeerListener | undefined; heard: DirectoryEvent[] };
type Ticket = {
  readonly member: Member;
  readonly grant: PromiseWithResolvers<void>;
  readonly released: PromiseWithResolvers<void>;
  status: SessionStatus;
};

const ALIVE_MS = 900;
const EVENTS_LATE_MS = 200;

const never = (): Promise<never> => new Promise(() => {});

/** Several servers on one store in one process, as PostgreSQL makes them: leases, requests for approval, events that come late. */
export const createMemoryCluster = (store: Store, clock: Clock, random: () => number) => {
  const members: Member[] = [];
  const tickets = new Map<string, Ticket[]>();
  const board = createSingleServer(store).permissionRequests;
  const askedBy = new Map<string, Member>();
  const ticketsOf = (sessionID: string): readonly Ticket[] => tickets.get(sessionID) ?? [];
  const others = (own: Member): readonly Member[] => members.filter((one) => one !== own && !one.isGone);

  const hear = (member: Member): void => {
    const heard = member.heard;
    member.heard = [];
    if (heard.length > 0 && !member.isGone) member.listener?.onEvents(heard);
  };
  const tell = (own: Member, placed: readonly DirectoryEvent[]): void => {
    for (const other of others(own)) {
      other.heard.push(...placed);
      clock.after(random() < 0.7 ? 0 : EVENTS_LATE_MS, () => hear(other));
    }
  };
  const release = (sessionID: string, ticket: Ticket): void => {
    const left = ticketsOf(sessionID).filter((one) => one !== ticket);
    if (left.length === 0) tickets.delete(sessionID);
    else tickets.set(sessionID, left);
    left[0]?.grant.resolve();
    ticket.released.resolve();
  };
  const bury = (dead: Member): void => {
    dead.isBuried = true;
    for (const [sessionID, queue] of [...tickets])
      for (const ticket of queue) if (ticket.member === dead) release(sessionID, ticket);
    for (const { listener } of others(dead)) listener?.onAbandoned();
  };

  const storeOf = (own: Member): Store => {
    /** What a killed server began never comes to an end in it. */
    const whileThere = <Functions extends object>(functions: Functions): Functions =>
      Object.fromEntries(
        Object.entries(functions).map(([name, work]) => [
          name,
          typeof work !== 'function'
            ? work
            : async (...given: readonly unknown[]) => {
                if (own.isGone) return never();
                const result = await work(...given);
                return own.isGone ? never() : result;
              },
        ]),
      ) as Functions;
    const commit: Store['commit'] = async (changes, drafts) => {
      const placed = await store.commit(changes, drafts);
      tell(own, placed);
      hear(own);
      return placed;
    };
    return { ...whileThere({ ...store, commit }), turns: whileThere(store.turns) };
  };
  const leasesOf = (own: Member): Peers['leases'] => ({
    async acquire(sessionID): Promise<SessionLease> {
      const ticket: Ticket = {
        member: own,
        grant: Promise.withResolvers(),
        released: Promise.withResolvers(),
        status: { type: 'busy' },
      };
      tickets.set(sessionID, [...ticketsOf(sessionID), ticket]);
      ticketsOf(sessionID)[0]?.grant.resolve();
      await ticket.grant.promise;
      if (own.isGone) return never();
      return {
        id: undefined,
        isAwaited: async () => ticketsOf(sessionID).some(({ member }) => member !== own),
        async showStatus(status) {
          ticket.status = status;
        },
        release: async () => release(sessionID, ticket),
      };
    },
    whileRequested: (_, work) => work(undefined),
    async abort(sessionID, promptID) {
      const meant = ticketsOf(sessionID).filter(({ member }) => member !== own);
      for (const member of new Set(meant.map((ticket) => ticket.member)))
        if (!member.isGone) member.listener?.onAbort(sessionID, promptID);
      if (promptID === undefined) await Promise.all(meant.map(({ released }) => released.promise));
    },
    async statuses() {
      const held = [...tickets].flatMap(([id, [first]]) => (first && first.member !== own ? [[id, first.status]] : []));
      return Object.fromEntries(held);
    },
    withoutOwner: async (sessionIDs) => sessionIDs.filter((id) => !tickets.has(id)),
  });
  const isOpen = (id: string): boolean => askedBy.get(id)?.isBuried === false;
  const permissionRequestsOf = (own: Member): Peers['permissionRequests'] => ({
    ...board,
    add(request, onOutcome) {
      askedBy.set(request.id, own);
      return board.add(request, (outcome) => {
        if (!own.isGone) onOutcome(outcome);
      });
    },
    answer: async (decision) => isOpen(decision.id) && board.answer(decision),
    open: async () => (await board.open()).filter(({ id }) => isOpen(id)),
  });

  return {
    join(): ClusterMember {
      const own: Member = { isGone: false, isBuried: false, listener: undefined, heard: [] };
      members.push(own);
      return {
        store: storeOf(own),
        peers: {
          leases: leasesOf(own),
          permissionRequests: permissionRequestsOf(own),
          storeTrouble: () => undefined,
          counts: () => ({ leasesHeld: 0, leasesAwaited: 0, servers: members.filter((one) => !one.isGone).length }),
          listen(listener) {
            own.listener = listener;
          },
        },
        clock: {
          now: clock.now,
          after: (delayMs, task) =>
            clock.after(delayMs, () => {
              if (!own.isGone) task();
            }),
        },
        isGone: () => own.isGone,
        vanish() {
          own.isGone = true;
          clock.after(ALIVE_MS, () => bury(own));
        },
      };
    },
  };
};
