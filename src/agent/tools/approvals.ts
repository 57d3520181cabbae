import type { Clock } from '../../core/clock.ts';
import type { Publication } from '../events/publisher.ts';
import type { Ids } from '../protocol/ids.ts';
import { actionForAll } from '../protocol/permission-rules.ts';
import type { PermissionReply, PermissionRequest, Rule } from '../protocol/types.ts';
import type { PermissionBoard, PermissionOutcome } from '../store/cluster.ts';

/** A permission request before it has an id. */
type NewPermissionRequest = Omit<PermissionRequest, 'id'>;

/** Open permission requests, and what people allowed with `always`. Nothing of it survives the process: a run does not either. */
export type Approvals = {
  /** Opens a request and waits for the answer. Rejects with the signal's reason when it aborts, and withdraws the request. */
  readonly request: (
    directory: string,
    details: NewPermissionRequest,
    signal: AbortSignal,
  ) => Promise<PermissionOutcome>;
  readonly open: () => Promise<readonly PermissionRequest[]>;
  /**
   * False when there is no such open request. `always` also answers the other requests that it covers, of every session; a
   * rejection without a message cancels the session's other requests.
   */
  readonly reply: (requestID: string, reply: PermissionReply) => Promise<boolean>;
  /** What people allowed with `always`, for every session until the process ends. */
  readonly allowed: () => Promise<readonly Rule[]>;
  /** How many of the open requests are of this server. */
  readonly count: () => number;
};

type ApprovalNeeds = {
  readonly board: PermissionBoard;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly publish: (directory: string, fact: Publication) => Promise<unknown>;
};

const NOTHING_ALLOWED: readonly Rule[] = [];

export const createApprovals = ({ board, ids, clock, timeoutMs, publish }: ApprovalNeeds): Approvals => {
  let count = 0;
  /** Gives one answer to every open request that it fits. */
  const answerAll = async (
    fits: (request: PermissionRequest) => boolean,
    outcome: PermissionOutcome,
  ): Promise<void> => {
    const others = (await board.open()).filter(fits);
    await Promise.all(others.map(({ id: requestID }) => board.answer({ requestID, outcome, allows: NOTHING_ALLOWED })));
  };
  const answerCovered = async ({ permission }: PermissionRequest): Promise<void> => {
    const allowed = await board.allowedRules();
    const isCovered = (other: PermissionRequest): boolean =>
      other.permission === permission && actionForAll(allowed, permission, other.patterns) === 'allow';
    await answerAll(isCovered, { reply: 'always' });
  };
  return {
    async request(directory, details, signal) {
      signal.throwIfAborted();
      const request: PermissionRequest = { ...details, id: ids('permission') };
      const { id: requestID, sessionID } = request;
      const answered = Promise.withResolvers<PermissionOutcome>();
      // Nothing awaits the promise yet while the request is being published.
      answered.promise.catch(() => {});
      let isAnswered = false;
      const onOutcome = (outcome: PermissionOutcome): void => {
        isAnswered = true;
        answered.resolve(outcome);
      };
      const expire = () =>
        void board.answer({ requestID, outcome: { reply: 'expired' }, allows: [] }).catch(answered.reject);
      const cancelTimer = clock.after(timeoutMs, expire);
      const onAbort = () => answered.reject(signal.reason);
      signal.addEventListener('abort', onAbort, { once: true });
      const publishReply = (reply: 'once' | 'always' | 'reject') =>
        publish(directory, { drafts: [{ type: 'permission.replied', properties: { sessionID, requestID, reply } }] });
      count += 1;
      try {
        // Opened before it is published: an answer may come at once.
        await board.add(request, onOutcome);
        await publish(directory, { drafts: [{ type: 'permission.asked', properties: request }] });
        const outcome = await answered.promise;
        const { reply } = outcome;
        await publishReply(reply === 'once' || reply === 'always' ? reply : 'reject');
        return outcome;
      } catch (error) {
        if (!isAnswered) {
          // Clients that show the request must learn that it is over, but the run ends even if this fails.
          await board.withdraw(requestID).catch(() => {});
          await publishReply('reject').catch(() => {});
        }
        throw error;
      } finally {
        count -= 1;
        cancelTimer();
        signal.removeEventListener('abort', onAbort);
      }
    },
    open: board.open,
    async reply(requestID, reply) {
      const request = (await board.open()).find(({ id }) => id === requestID);
      if (request === undefined) return false;
      const { permission, always, sessionID } = request;
      const isAlways = reply.reply === 'always';
      const allows = isAlways ? always.map((pattern): Rule => ({ permission, pattern, action: 'allow' })) : [];
      if (!(await board.answer({ requestID, outcome: reply, allows }))) return false;
      if (isAlways) await answerCovered(request);
      if (reply.reply === 'reject' && reply.message === undefined)
        await answerAll((other) => other.sessionID === sessionID, { reply: 'cancelled' });
      return true;
    },
    allowed: board.allowedRules,
    count: () => count,
  };
};
