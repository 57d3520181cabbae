import type { PermissionRequest } from './permission-request.ts';
import type { Rule } from './session.ts';
import type { AskBoard, AskOutcome, Lease, Peers } from './store/cluster.ts';

const OWN: Lease = {
  id: undefined,
  hasLeftovers: false,
  isAwaited: async () => false,
  show: async () => {},
  leave: async () => {},
};

/** Questions of one server. They do not outlive it: the runs that ask them do not either. */
const createBoard = (): AskBoard => {
  const open = new Map<string, { readonly request: PermissionRequest; readonly hear: (outcome: AskOutcome) => void }>();
  const allowed: Rule[] = [];
  return {
    async put(request, hear) {
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
    allowed: async () => [...allowed],
  };
};

/** A server that has its store to itself. */
export const alone = (): Peers => ({
  leases: {
    enter: async () => OWN,
    abort: async () => {},
    statuses: async () => ({}),
    free: async (sessionIDs) => sessionIDs,
  },
  asks: createBoard(),
  isStoreUp: () => true,
  counts: () => ({ leasesHeld: 0, leasesAwaited: 0, servers: 1 }),
  listen() {},
});
