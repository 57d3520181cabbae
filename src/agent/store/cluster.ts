import { createKeyedQueue } from '../../core/keyed-queue.ts';
import {
  outcomeOf,
  type PermissionDecision,
  type PermissionOutcome,
  type PermissionRequest,
  type StandingRule,
  standingRuleOf,
} from '../protocol/permissions.ts';
import type { SessionStatus } from '../protocol/types.ts';
import type { StoreTrouble } from './errors.ts';
import type { DirectoryEvent, LeaseRequest, Store } from './store.ts';

/** The right to work on a session, which one run of one server has at a time. */
export type SessionLease = {
  /** The lease's id in the store. None where no other server could have the session. */
  readonly id: string | undefined;
  /** The prompt since whose commit nothing was done or left in the session, where that is known. */
  readonly untouchedSince?: string | undefined;
  /** Whether a prompt at another server waits for the session. */
  readonly isAwaited: () => Promise<boolean>;
  /** Publishes the session's status to other servers. It is busy from the beginning. */
  readonly showStatus: (status: SessionStatus) => Promise<void>;
  readonly release: () => Promise<void>;
};

/** Leases of sessions, among servers on one store. */
export type Leases = {
  /**
   * Queues for a session, also behind what holds its lease on this server, and settles when the lease is there; first come,
   * first served. `onLost` is called when the lease is lost: nothing more can be stored for the session then.
   */
  readonly acquire: (sessionID: string, onLost: () => void) => Promise<SessionLease>;
  /**
   * Runs `work`, which may give the request to the commit that stores the prompt, so that the lease needs no query of its own:
   * the next `acquire` of the session on this server has it. The lease is given back when `work` rejects. There is no request
   * where leases need none, and while another one of the session is under way.
   */
  readonly whileRequested: <T>(
    asked: { readonly sessionID: string; readonly promptID: string },
    work: (request: LeaseRequest | undefined) => Promise<T>,
  ) => Promise<T>;
  /** Makes other servers abort what runs and what waits in a session, or one prompt of it. Settles when that has ended. */
  readonly abort: (sessionID: string, promptID?: string) => Promise<void>;
  /** The statuses of sessions that other servers work on, by session id. */
  readonly statuses: () => Promise<Readonly<Record<string, SessionStatus>>>;
  /** Those of the given sessions on which no server works. */
  readonly withoutOwner: (sessionIDs: readonly string[]) => Promise<readonly string[]>;
};

/** Open permission requests of all servers on one store. Every end of one is kept before it has any effect. */
export type PermissionBoard = {
  /** Opens a request. `onOutcome` is called once, with the outcome that counts. */
  readonly add: (request: PermissionRequest, onOutcome: (outcome: PermissionOutcome) => void) => Promise<void>;
  /** Removes a request of this server whose run is over, even if the decision about it cannot be kept. */
  readonly withdraw: (decision: PermissionDecision) => Promise<void>;
  /**
   * Whether this answer counts. False when no such request is open, once the answer that counts is kept: the first one. What it
   * covers is allowed from then on. A request whose decision cannot be kept stays open.
   */
  readonly answer: (decision: PermissionDecision) => Promise<boolean>;
  /** The open requests, oldest first. */
  readonly open: () => Promise<readonly PermissionRequest[]>;
  /** The standing rules that hold at a time, the oldest first. They end with the last server, unless it crashed and another came at once. */
  readonly standing: (now: number) => Promise<readonly StandingRule[]>;
  /** Keeps the decision about a call that runs under a standing rule, and counts it. False, and nothing is kept, once the rule is over. */
  readonly use: (ruleID: string, decision: PermissionDecision) => Promise<boolean>;
  /** Ends a standing rule, and waits for the uses of it that are being kept. False when there is no such rule. */
  readonly revoke: (ruleID: string) => Promise<boolean>;
  /** Ends the standing rules of a session that was removed, unless the store has removed them with it. */
  readonly endWith: (sessionID: string) => Promise<void>;
};

/** What a server receives from the others. */
export type PeerListener = {
  /** Events that another server has stored, in their order, before any later commit of this server settles. */
  readonly onEvents: (events: readonly DirectoryEvent[]) => void;
  /** Another server received a request to abort a session that this one works on, or one prompt of it; it may come twice. */
  readonly onAbort: (sessionID: string, promptID?: string) => void;
  /**
   * Some session may have answers that were left unfinished, or that are owed, and no server works on it. Several servers
   * receive this, and any of them may already have recovered the session.
   */
  readonly onAbandoned: () => void;
};

/** Numbers about the cluster, as this server sees it now. */
export type PeerCounts = {
  /** Sessions that this server works on. */
  readonly leasesHeld: number;
  /** Prompts of this server that wait for a session which another server works on. */
  readonly leasesAwaited: number;
  /** Servers that were alive at the last heartbeat, this one among them. */
  readonly servers: number;
};

/** The servers that work on one store, as each of them sees the others. */
export type Peers = {
  readonly leases: Leases;
  readonly permissionRequests: PermissionBoard;
  /** Why the store did not work at the last attempt; undefined when it did. */
  readonly storeTrouble: () => StoreTrouble | undefined;
  readonly counts: () => PeerCounts;
  /** Starts the calls of the listener. To be called once. */
  readonly listen: (listener: PeerListener) => void;
};

/** Leases of one server: its runs, and the recovery of what it could not end, stay out of each other's sessions. */
const createLocalLeases = (): Leases => {
  const queue = createKeyedQueue({
    count: Number.POSITIVE_INFINITY,
    per: 'key',
    createError: () => new Error('Never'),
  });
  const { signal } = new AbortController();
  return {
    async acquire(sessionID) {
      const release = await queue.acquire(sessionID, signal);
      return {
        id: undefined,
        isAwaited: async () => false,
        showStatus: async () => {},
        release: async () => release(),
      };
    },
    whileRequested: (_, work) => work(undefined),
    abort: async () => {},
    statuses: async () => ({}),
    withoutOwner: async (sessionIDs) => sessionIDs,
  };
};

/** The permission requests of one server, in memory: they end with the process, as the runs that made them do. */
const createPermissionBoard = (recordDecision: Store['recordDecision']): PermissionBoard => {
  const open = new Map<
    string,
    { readonly request: PermissionRequest; readonly onOutcome: (outcome: PermissionOutcome) => void }
  >();
  const standing = new Map<string, StandingRule>();
  /** Of answers to requests, and of uses of the rules that they make. */
  const deciding = createKeyedQueue({
    count: Number.POSITIVE_INFINITY,
    per: 'key',
    createError: () => new Error('Never'),
  });
  const { signal } = new AbortController();
  return {
    async add(request, onOutcome) {
      open.set(request.id, { request, onOutcome });
    },
    async withdraw(decision) {
      if (open.delete(decision.id)) await recordDecision(decision);
    },
    async answer(decision) {
      const { id } = decision;
      if (!open.has(id)) return false;
      const release = await deciding.acquire(id, signal);
      try {
        const waiting = open.get(id);
        if (waiting === undefined) return false;
        await recordDecision(decision);
        open.delete(id);
        const rule = standingRuleOf(decision);
        if (rule !== undefined) standing.set(id, rule);
        waiting.onOutcome(outcomeOf(decision));
        return true;
      } finally {
        release();
      }
    },
    open: async () => [...open.values()].map(({ request }) => request),
    async standing(now) {
      for (const { id, until } of standing.values()) if (until <= now) standing.delete(id);
      return [...standing.values()];
    },
    async use(ruleID, decision) {
      const release = await deciding.acquire(ruleID, signal);
      try {
        if ((standing.get(ruleID)?.until ?? 0) <= decision.at) return false;
        await recordDecision(decision);
        const rule = standing.get(ruleID);
        if (rule !== undefined) standing.set(ruleID, { ...rule, uses: rule.uses + 1 });
        return true;
      } finally {
        release();
      }
    },
    async revoke(ruleID) {
      const isEnded = standing.delete(ruleID);
      const release = await deciding.acquire(ruleID, signal);
      release();
      return isEnded;
    },
    async endWith(sessionID) {
      for (const rule of standing.values()) if (rule.sessionID === sessionID) standing.delete(rule.id);
    },
  };
};

/** Whether a store works that one server has to itself. */
export type StoreHealth = {
  readonly trouble: () => StoreTrouble | undefined;
  /** The listener is called whenever the store works again. */
  readonly onWorking: (listener: () => void) => void;
};

const SOUND: StoreHealth = { trouble: () => undefined, onWorking() {} };

/** A store that one server has to itself, as far as its `Peers` use it. */
type OwnStore = Pick<Store, 'recordDecision'> & { readonly health?: StoreHealth };

/** The `Peers` of a server that has its store to itself. What it could not end while the store failed counts as abandoned. */
export const createSingleServer = ({ recordDecision, health = SOUND }: OwnStore): Peers => ({
  leases: createLocalLeases(),
  permissionRequests: createPermissionBoard(recordDecision),
  storeTrouble: health.trouble,
  counts: () => ({ leasesHeld: 0, leasesAwaited: 0, servers: 1 }),
  listen: ({ onAbandoned }) => health.onWorking(onAbandoned),
});
