import type { Clock } from '../../core/clock.ts';
import type { Publication } from '../events/publisher.ts';
import type { Ids } from '../protocol/ids.ts';
import { actionForAll } from '../protocol/permission-rules.ts';
import type { PermissionReply, PermissionRequest, Rule } from '../protocol/types.ts';
import type { PermissionBoard, PermissionOutcome } from '../store/cluster.ts';

export type NewPermissionRequest = Omit<PermissionRequest, 'id'>;

/** Questions to people that are open, and what was allowed for good. Nothing of it survives the process: a run does not either. */
export type Approvals = {
  /** Asks, and waits for the answer. Rejects with the signal's reason when it aborts; the question is gone then. */
  readonly request: (
    directory: string,
    question: NewPermissionRequest,
    signal: AbortSignal,
  ) => Promise<PermissionOutcome>;
  readonly open: () => Promise<readonly PermissionRequest[]>;
  /**
   * False when there is no such question, or no longer. `always` also answers the other questions that it covers, of every
   * session; a bare rejection ends the session's other questions.
   */
  readonly reply: (requestID: string, reply: PermissionReply) => Promise<boolean>;
  /** What people allowed with `always`, for every session until the process ends. */
  readonly allowed: () => Promise<readonly Rule[]>;
  /** How many of the open questions were asked here. */
  readonly count: () => number;
};

export type ApprovalNeeds = {
  readonly board: PermissionBoard;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly publish: (directory: string, fact: Publication) => Promise<unknown>;
};

const NOTHING_ALLOWED: readonly Rule[] = [];

export const createApprovals = ({ board, ids, clock, timeoutMs, publish }: ApprovalNeeds): Approvals => {
  let count = 0;
  /** Gives one answer to every open question that it fits. */
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
    async request(directory, question, signal) {
      signal.throwIfAborted();
      const request: PermissionRequest = { ...question, id: ids('permission') };
      const { id: requestID, sessionID } = request;
      const answered = Promise.withResolvers<PermissionOutcome>();
      // Nobody listens yet while the question is being told.
      answered.promise.catch(() => {});
      let isAnswered = false;
      const hear = (outcome: PermissionOutcome): void => {
        isAnswered = true;
        answered.resolve(outcome);
      };
      const expire = () =>
        void board.answer({ requestID, outcome: { reply: 'expired' }, allows: [] }).catch(answered.reject);
      const cancelTimer = clock.after(timeoutMs, expire);
      const leave = () => answered.reject(signal.reason);
      signal.addEventListener('abort', leave, { once: true });
      const tell = (reply: 'once' | 'always' | 'reject') =>
        publish(directory, { drafts: [{ type: 'permission.replied', properties: { sessionID, requestID, reply } }] });
      count += 1;
      try {
        // Open before it is told: an answer may come at once.
        await board.add(request, hear);
        await publish(directory, { drafts: [{ type: 'permission.asked', properties: request }] });
        const outcome = await answered.promise;
        await tell(outcome.reply === 'expired' ? 'reject' : outcome.reply);
        return outcome;
      } catch (error) {
        if (!isAnswered) {
          // Whoever shows the question must hear that it is over. That the run ends is what matters more.
          await board.withdraw(requestID).catch(() => {});
          await tell('reject').catch(() => {});
        }
        throw error;
      } finally {
        count -= 1;
        cancelTimer();
        signal.removeEventListener('abort', leave);
      }
    },
    open: board.open,
    async reply(requestID, reply) {
      const asked = (await board.open()).find(({ id }) => id === requestID);
      if (asked === undefined) return false;
      const { permission, always, sessionID } = asked;
      const isForGood = reply.reply === 'always';
      const allows = isForGood ? always.map((pattern): Rule => ({ permission, pattern, action: 'allow' })) : [];
      if (!(await board.answer({ requestID, outcome: reply, allows }))) return false;
      if (isForGood) await answerCovered(asked);
      if (reply.reply === 'reject' && reply.message === undefined)
        await answerAll((other) => other.sessionID === sessionID, { reply: 'reject' });
      return true;
    },
    allowed: board.allowedRules,
    count: () => count,
  };
};
