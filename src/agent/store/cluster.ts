import type { PermissionReply, PermissionRequest, Rule, SessionStatus } from '../protocol/types.ts';
import type { DirectoryEvent } from './store.ts';

/** A session that this server works on, and no other does. */
export type SessionLease = {
  /** By which the store knows it. None where no other server could have the session. */
  readonly id: string | undefined;
  /** A server that is gone has left answers in it that nobody will finish. */
  readonly hasUnfinishedAnswers: boolean;
  /** Whether somebody at another server waits for the session. */
  readonly isAwaited: () => Promise<boolean>;
  /** Lets other servers see what the session does. It is busy from the beginning. */
  readonly showStatus: (status: SessionStatus) => Promise<void>;
  readonly release: () => Promise<void>;
};

/** Who works on which session, among servers on one store. */
export type Leases = {
  /**
   * Lines up for a session and settles when it is this server's, in the order of asking. `onLost` is called when it is not
   * any more: nothing that is done for the session can be kept then.
   */
  readonly acquire: (sessionID: string, onLost: () => void) => Promise<SessionLease>;
  /** Has other servers abort what they have under way in a session and what waits there. Settles when that has ended. */
  readonly abort: (sessionID: string) => Promise<void>;
  /** What sessions do that other servers work on. */
  readonly statuses: () => Promise<Readonly<Record<string, SessionStatus>>>;
  /** Those of some sessions on which no server works. */
  readonly withoutOwner: (sessionIDs: readonly string[]) => Promise<readonly string[]>;
};

/** How a question ended: with an answer, or because nobody gave one in time. */
export type PermissionOutcome = PermissionReply | { readonly reply: 'expired' };

export type PermissionAnswer = {
  readonly requestID: string;
  readonly outcome: PermissionOutcome;
  /** What is allowed from now on, in every session. */
  readonly allows: readonly Rule[];
};

/** Questions to people that are open, of all servers on one store. */
export type PermissionBoard = {
  /** From now on the question can be answered. `hear` is told the one answer that counts. */
  readonly add: (request: PermissionRequest, hear: (outcome: PermissionOutcome) => void) => Promise<void>;
  /** Takes a question of this server back. */
  readonly withdraw: (requestID: string) => Promise<void>;
  /** False when there is no such question, or it has its answer: the first one counts. */
  readonly answer: (answered: PermissionAnswer) => Promise<boolean>;
  /** In the order in which they were put. */
  readonly open: () => Promise<readonly PermissionRequest[]>;
  /** What people allowed for every session, until the last of the servers ends. */
  readonly allowedRules: () => Promise<readonly Rule[]>;
};

/** What a server wants to hear of the others. */
export type PeerListener = {
  /** Events that another server has kept, in their order, before any later one of this server's own settles. */
  readonly onEvents: (placed: readonly DirectoryEvent[]) => void;
  /** Another server is asked to end what goes on in a session, and this one works on it. */
  readonly onAbort: (sessionID: string) => void;
  /** A server is gone. Whoever is told may find that somebody else has seen to what it left. */
  readonly onGone: () => void;
};

/** What a server knows of the others at the moment. */
export type PeerCounts = {
  /** Sessions that this server works on. */
  readonly leasesHeld: number;
  /** Prompts of this server that wait until another one is done with their session. */
  readonly leasesAwaited: number;
  /** Servers that were alive at the last beat, this one among them. */
  readonly servers: number;
};

/** The servers that work on one store, as each of them sees the others. */
export type Peers = {
  readonly leases: Leases;
  readonly permissionRequests: PermissionBoard;
  /** Whether the store that they share could be reached when it was tried last. */
  readonly isStoreUp: () => boolean;
  readonly counts: () => PeerCounts;
  /** Begins to hear. Called once. */
  readonly listen: (news: PeerListener) => void;
};

const SINGLE_SERVER_LEASE: SessionLease = {
  id: undefined,
  hasUnfinishedAnswers: false,
  isAwaited: async () => false,
  showStatus: async () => {},
  release: async () => {},
};

/** Questions of one server. They do not outlive it: the runs that ask them do not either. */
const createPermissionBoard = (): PermissionBoard => {
  const open = new Map<
    string,
    { readonly request: PermissionRequest; readonly hear: (outcome: PermissionOutcome) => void }
  >();
  const allowed: Rule[] = [];
  return {
    async add(request, hear) {
      open.set(request.id, { request, hear });
    },
    async withdraw(requestID) {
      open.delete(requestID);
    },
    async answer({ requestID, outcome, allows }) {
      const asked = open.get(requestID);
      if (asked === undefined) return false;
      open.delete(requestID);
      allowed.push(...allows);
      asked.hear(outcome);
      return true;
    },
    open: async () => [...open.values()].map(({ request }) => request),
    allowedRules: async () => [...allowed],
  };
};

/** A server that has its store to itself. */
export const createSingleServer = (): Peers => ({
  leases: {
    acquire: async () => SINGLE_SERVER_LEASE,
    abort: async () => {},
    statuses: async () => ({}),
    withoutOwner: async (sessionIDs) => sessionIDs,
  },
  permissionRequests: createPermissionBoard(),
  isStoreUp: () => true,
  counts: () => ({ leasesHeld: 0, leasesAwaited: 0, servers: 1 }),
  listen() {},
});
