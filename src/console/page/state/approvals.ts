import { computed, signal } from '@preact/signals';
import type { Approval, ApprovalList, Decision } from '../../protocol.ts';
import { ApiError } from '../api/request.ts';
import type { ApprovalReply } from '../api/types.ts';
import { api } from './visitor.ts';

/** A request on the page: open, or ended while the page was open. It keeps its place until the visitor hides it. */
export type ShownApproval = {
  readonly approval: Approval;
  readonly ended?: Decision;
  /** Whether this visitor decided it, here. */
  readonly isOwn?: boolean;
  /** Whether its arguments have changed since they were first shown. */
  readonly hasChanged?: boolean;
};

const MOST_DECISIONS = 100;

/** The requests of the page, the oldest first: a new one moves none of the others from under the pointer. */
export const shownApprovals = signal<readonly ShownApproval[] | undefined>(undefined);

/** Decisions, the newest first. */
export const decisions = signal<readonly Decision[]>([]);

/** How many requests wait for somebody. */
export const waitingCount = computed(
  () => (shownApprovals.value ?? []).filter(({ ended }) => ended === undefined).length,
);

const byAge = (left: ShownApproval, right: ShownApproval): number =>
  (left.approval.asked ?? 0) - (right.approval.asked ?? 0);

const decisionOf = (id: string): Decision | undefined => decisions.value.find((decision) => decision.id === id);

/** The end of a request as the page knows it by itself. */
const ownDecision = (approval: Approval, reply: Decision['reply']): Decision => {
  const { agent, id, sessionID, permission, patterns, argumentsHash } = approval;
  return { agent, id, sessionID, permission, patterns, argumentsHash, reply, at: Date.now() };
};

/** A request that is no longer open, with what is known of its end. */
const endedNow = (shown: ShownApproval): ShownApproval => {
  const { id, ends = Number.POSITIVE_INFINITY } = shown.approval;
  const reply = Date.now() >= ends ? 'expired' : 'cancelled';
  return { ...shown, ended: decisionOf(id) ?? ownDecision(shown.approval, reply) };
};

/** Whether the agent server of a request does not answer, and its time is not over: then nobody knows whether it waits. */
const isUnknown = ({ agent, ends = Number.POSITIVE_INFINITY }: Approval, away: readonly number[]): boolean =>
  away.includes(agent) && Date.now() < ends;

/**
 * Takes the list of all open requests. What is no longer in it has ended, by a known decision or an unknown one, unless its agent
 * server is `away`.
 */
export const takeOpen = ({ open, away }: ApprovalList): void => {
  const before = shownApprovals.value ?? [];
  const kept = before.map((shown): ShownApproval => {
    const { approval, ended } = shown;
    const fresh = open.find(({ id }) => id === approval.id);
    // One that was taken for ended without a decision, and waits after all, is open again.
    if (ended !== undefined && (fresh === undefined || decisionOf(approval.id) !== undefined)) return shown;
    if (fresh === undefined) return isUnknown(approval, away) ? shown : endedNow(shown);
    const hasChanged = shown.hasChanged === true || fresh.argumentsHash !== shown.approval.argumentsHash;
    return { approval: fresh, hasChanged };
  });
  const known = new Set(before.map(({ approval }) => approval.id));
  const added = open.filter(({ id }) => !known.has(id)).map((approval) => ({ approval }));
  shownApprovals.value = [...kept, ...added].sort(byAge);
};

/** Takes one decision: of this visitor, of another, or of the clock. */
export const takeDecision = (decision: Decision, isOwn = false): void => {
  decisions.value = [decision, ...decisions.value.filter(({ id }) => id !== decision.id)].slice(0, MOST_DECISIONS);
  const shown = shownApprovals.value;
  if (shown === undefined) return;
  shownApprovals.value = shown.map((one) =>
    one.approval.id === decision.id ? { ...one, ended: decision, isOwn: isOwn || one.isOwn === true } : one,
  );
};

/** Takes the decisions that are kept at the agent servers. */
export const takeDecisions = (kept: readonly Decision[]): void => {
  const known = new Set(kept.map(({ id }) => id));
  decisions.value = [...kept, ...decisions.value.filter(({ id }) => !known.has(id))]
    .sort((left, right) => right.at - left.at)
    .slice(0, MOST_DECISIONS);
};

/** Takes requests that have ended off the page: one, or all. */
export const hideEnded = (id?: string): void => {
  shownApprovals.value = shownApprovals.value?.filter(
    ({ approval, ended }) => ended === undefined || (id !== undefined && approval.id !== id),
  );
};

/** What became of an answer: taken; too late, and what had been decided; or not taken, as other arguments were shown. */
export type ReplyOutcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'too-late'; readonly decision: Decision }
  | { readonly kind: 'arguments-changed' };

const decidedIn = ({ details }: ApiError, approval: Approval): Decision => {
  // The console checked what the agent server said.
  const known = (details.decided ?? {}) as Partial<Decision>;
  return { ...ownDecision(approval, 'cancelled'), ...known, id: approval.id };
};

/** Loads the open requests and the kept decisions. */
export const loadApprovals = async (signal?: AbortSignal): Promise<void> => {
  const { decided, ...list } = await api.get<
    ApprovalList & {
      readonly decided: readonly Decision[];
    }
  >('/api/approvals', signal);
  takeDecisions(decided);
  takeOpen(list);
};

/**
 * Answers a request, with the hash of the arguments that were shown. Resolves also when somebody else was faster: then the
 * request shows who. Throws `ApiError` for anything else.
 */
export const replyTo = async (approval: Approval, reply: ApprovalReply, message?: string): Promise<ReplyOutcome> => {
  const { agent, id, argumentsHash } = approval;
  try {
    const answer = await api.send<Partial<Decision> | undefined>(
      'POST',
      `/api/approvals/${agent}/${encodeURIComponent(id)}`,
      { reply, argumentsHash, ...(message === undefined ? {} : { message }) },
    );
    takeDecision({ ...ownDecision(approval, reply), ...answer, id }, true);
    return { kind: 'taken' };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
    if (error.code === 'arguments_changed') {
      await loadApprovals().catch(() => undefined);
      return { kind: 'arguments-changed' };
    }
    const decision = decidedIn(error, approval);
    takeDecision(decision);
    return { kind: 'too-late', decision };
  }
};
