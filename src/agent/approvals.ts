import type { Clock } from '../core/clock.ts';
import type { Ids } from './ids.ts';
import type { PermissionReply, PermissionRequest } from './permission-request.ts';
import { rulingForAll } from './permission-rules.ts';
import type { Fact } from './publisher.ts';
import type { Rule } from './session.ts';

/** How a question ended: with an answer, or because nobody gave one in time. */
export type AskOutcome = PermissionReply | { readonly reply: 'expired' };

export type Question = Omit<PermissionRequest, 'id'>;

/** Questions to people that are open, and what was allowed for good. Nothing of it survives the process: a run does not either. */
export type Approvals = {
  /** Asks, and waits for the answer. Rejects with the signal's reason when it aborts; the question is gone then. */
  readonly ask: (directory: string, question: Question, signal: AbortSignal) => Promise<AskOutcome>;
  readonly open: () => readonly PermissionRequest[];
  /**
   * False when there is no such question, or no longer. `always` also answers the other questions that it covers, of every
   * session; a bare rejection ends the session's other questions.
   */
  readonly reply: (requestID: string, reply: PermissionReply) => boolean;
  /** What people allowed with `always`, for every session until the process ends. */
  readonly allowed: () => readonly Rule[];
};

export type ApprovalNeeds = {
  readonly ids: Ids;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly publish: (directory: string, fact: Fact) => Promise<unknown>;
};

type Open = { readonly request: PermissionRequest; readonly settle: (outcome: AskOutcome) => void };

export const createApprovals = ({ ids, clock, timeoutMs, publish }: ApprovalNeeds): Approvals => {
  const open = new Map<string, Open>();
  const allowed: Rule[] = [];

  const isAllowedNow = ({ permission, patterns }: PermissionRequest): boolean =>
    rulingForAll(allowed, permission, patterns) === 'allow';
  const allow = ({ permission, always }: PermissionRequest): void => {
    allowed.push(...always.map((pattern): Rule => ({ permission, pattern, action: 'allow' })));
    for (const { request, settle } of [...open.values()]) {
      if (request.permission === permission && isAllowedNow(request)) settle({ reply: 'always' });
    }
  };
  const rejectOthers = (sessionID: string): void => {
    for (const { request, settle } of [...open.values()]) {
      if (request.sessionID === sessionID) settle({ reply: 'reject' });
    }
  };
  return {
    async ask(directory, question, signal) {
      signal.throwIfAborted();
      const request: PermissionRequest = { ...question, id: ids('permission') };
      const answered = Promise.withResolvers<AskOutcome>();
      const cancelTimer = clock.after(timeoutMs, () => answered.resolve({ reply: 'expired' }));
      // Nobody listens yet while the question is being told.
      answered.promise.catch(() => {});
      const leave = () => answered.reject(signal.reason);
      signal.addEventListener('abort', leave, { once: true });
      // Open before it is told: an answer may come at once.
      open.set(request.id, { request, settle: answered.resolve });
      const { id: requestID, sessionID } = request;
      const tell = (reply: 'once' | 'always' | 'reject') =>
        publish(directory, { drafts: [{ type: 'permission.replied', properties: { sessionID, requestID, reply } }] });
      try {
        await publish(directory, { drafts: [{ type: 'permission.asked', properties: request }] });
        const outcome = await answered.promise;
        open.delete(requestID);
        await tell(outcome.reply === 'expired' ? 'reject' : outcome.reply);
        return outcome;
      } catch (error) {
        // Whoever shows the question must hear that it is over. That the run ends is what matters more.
        if (open.delete(requestID)) await tell('reject').catch(() => {});
        throw error;
      } finally {
        cancelTimer();
        signal.removeEventListener('abort', leave);
      }
    },
    open: () => [...open.values()].map(({ request }) => request),
    reply(requestID, reply) {
      const asked = open.get(requestID);
      if (asked === undefined) return false;
      open.delete(requestID);
      asked.settle(reply);
      if (reply.reply === 'always') allow(asked.request);
      if (reply.reply === 'reject' && reply.message === undefined) rejectOthers(asked.request.sessionID);
      return true;
    },
    allowed: () => [...allowed],
  };
};
