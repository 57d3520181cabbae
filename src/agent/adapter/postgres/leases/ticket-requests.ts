import type { Leases } from '../../../store/cluster.ts';

/** A place in the queue of a session. */
export type SessionTicket = {
  readonly seq: string;
  readonly sessionID: string;
  /** Called when the ticket is gone with the membership of this server. */
  onLost: () => void;
  wake: () => void;
  isWaiting: boolean;
  /** The prompt with whose commit it was taken, where nothing was left in the session and no other ticket was there. */
  readonly untouchedSince?: string | undefined;
};

type TicketRequest = {
  readonly sessionID: string;
  readonly settled: Promise<void>;
  ticket: SessionTicket | undefined;
};

/** Tickets of this server that are taken by the commits of prompts, one at a time for each session. */
export const createTicketRequests = (needs: {
  /** Whether a query takes a ticket of the session now. */
  readonly isTaking: (sessionID: string) => boolean;
  readonly hold: (ticket: SessionTicket) => void;
  readonly release: (ticket: SessionTicket) => Promise<void>;
}) => {
  const requests = new Map<string, TicketRequest>();
  const underWay = new Set<TicketRequest>();
  const whileRequested: Leases['whileRequested'] = async ({ sessionID, promptID }, work) => {
    // Whichever of two tickets is the older one there, it could be behind the other in the run queue here: both would wait for ever.
    if (requests.has(sessionID) || needs.isTaking(sessionID)) return work(undefined);
    const settled = Promise.withResolvers<void>();
    const own: TicketRequest = { sessionID, settled: settled.promise, ticket: undefined };
    requests.set(sessionID, own);
    underWay.add(own);
    try {
      return await work({
        sessionID,
        onTaken({ id: seq, isFirst, isUntouched }) {
          const untouchedSince = isFirst && isUntouched ? promptID : undefined;
          own.ticket = { seq, sessionID, onLost() {}, wake() {}, isWaiting: !isFirst, untouchedSince };
          needs.hold(own.ticket);
        },
      });
    } catch (error) {
      if (requests.get(sessionID) === own) requests.delete(sessionID);
      // Not awaited: the caller learns of the failure at once.
      if (own.ticket !== undefined) void needs.release(own.ticket);
      throw error;
    } finally {
      underWay.delete(own);
      settled.resolve();
    }
  };
  return {
    whileRequested,
    /** The ticket of the session's request, which is its caller's from then on. Waits for a commit that is under way. */
    async claim(sessionID: string): Promise<SessionTicket | undefined> {
      const request = requests.get(sessionID);
      if (request === undefined) return undefined;
      await request.settled;
      if (requests.get(sessionID) !== request) return undefined;
      requests.delete(sessionID);
      return request.ticket;
    },
    /** Whether a commit is under way that may have taken a ticket of the session that is not known here yet. */
    isUnderWay: (sessionID: string): boolean => [...underWay].some((one) => one.sessionID === sessionID),
  };
};
