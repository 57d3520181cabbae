import { computed, signal } from '@preact/signals';
import type { AnswerWord, Approval, ApprovalList, Decision, RecentDecisions, ShownRule } from '../../protocol.ts';
import { ApiError } from '../api/request.ts';
import { api } from './visitor.ts';

/** A request on the page: open, or ended while the page was open. It keeps its place until the visitor hides it. */
export type ShownApproval = {
  readonly approval: Approval;
  readonly ended?: Decision;
  /** Whether this visitor decided it, here. */
  readonly isOwn?: boolean;
  /** Whether its arguments have changed since they were first shown. */
  readonly hasChanged?: boolean;
  /** Why the list has it no more, while no decision is known: its agent server does not answer, or it is over. */
  readonly missing?: 'away' | 'gone';
};

const MOST_DECISIONS = 200;
/** A page may stand open for weeks, and a request may hold a megabyte. */
const MOST_OVER = 30;

/** Whether a request may still wait for somebody. */
export const isOpen = ({ ended, missing }: ShownApproval): boolean => ended === undefined && missing !== 'gone';

/** The requests of the page. A new one stands last: it moves none of the others from under the pointer. */
export const shownApprovals = signal<readonly ShownApproval[] | undefined>(undefined);

/** Decisions, the newest first. */
export const decisions = signal<readonly Decision[]>([]);

/** The agent servers that do not answer: what waits there is not on the page. */
export const awayAgents = signal<readonly number[]>([]);

/** The agent servers whose decisions could not be read; nothing before any were asked for. */
export const unreadAgents = signal<readonly number[] | undefined>(undefined);

/** The rules that answers of `always` have made, as the console last listed them: it and the agent server know the time. */
export const standingRules = signal<readonly ShownRule[]>([]);

/** How many requests wait for somebody. */
export const waitingCount = computed(() => (shownApprovals.value ?? []).filter(isOpen).length);

const byAge = (left: ShownApproval, right: ShownApproval): number =>
  (left.approval.asked ?? 0) - (right.approval.asked ?? 0);

const decisionOf = (id: string): Decision | undefined => decisions.peek().find((decision) => decision.id === id);

/** What is known of a decision from its request alone. */
const ownDecision = (approval: Approval, reply: Decision['reply']): Decision => {
  const { agent, id, sessionID, permission, patterns, argumentsHash } = approval;
  return { agent, id, sessionID, permission, patterns, argumentsHash, reply, at: Date.now() };
};

/** Without the oldest of those that are over, where there are many. */
const bounded = (shown: readonly ShownApproval[]): readonly ShownApproval[] => {
  let tooMany = shown.filter((one) => !isOpen(one)).length - MOST_OVER;
  if (tooMany <= 0) return shown;
  return shown.filter((one) => {
    if (isOpen(one)) return true;
    tooMany -= 1;
    return tooMany < 0;
  });
};

let list: ApprovalList = { open: [], away: [], standing: [] };
let isFollowed = false;

const updated = (shown: ShownApproval): ShownApproval => {
  if (shown.ended !== undefined) return shown;
  const { approval, hasChanged = false } = shown;
  const fresh = list.open.find(({ id }) => id === approval.id);
  if (fresh !== undefined)
    return { approval: fresh, hasChanged: hasChanged || fresh.argumentsHash !== approval.argumentsHash };
  const ended = decisionOf(approval.id);
  if (ended !== undefined) return { ...shown, ended };
  const { agent, ends = Number.POSITIVE_INFINITY } = approval;
  return { ...shown, missing: list.away.includes(agent) && Date.now() < ends ? 'away' : 'gone' };
};

/**
 * Takes the list of all open requests. One that is no longer in it has been decided, or is over: who decided is then asked.
 * The list says nothing of a server that is away. One that comes back into the list is open again.
 */
export const takeOpen = (next: ApprovalList): void => {
  list = next;
  awayAgents.value = next.away;
  standingRules.value = next.standing;
  const before = shownApprovals.peek() ?? [];
  const wasGone = new Set(before.flatMap(({ approval, missing }) => (missing === 'gone' ? [approval.id] : [])));
  const known = new Set(before.map(({ approval }) => approval.id));
  const added = next.open
    .filter(({ id }) => !known.has(id) && decisionOf(id) === undefined)
    .map((approval): ShownApproval => ({ approval }))
    .sort(byAge);
  const after = [...before.map(updated), ...added];
  shownApprovals.value = bounded(after);
  if (
    after.some(({ approval, ended, missing }) => ended === undefined && missing === 'gone' && !wasGone.has(approval.id))
  )
    void loadDecisions();
};

/** Says whether the event stream brings the list. While it does, the answer to a call may be older than what it brought. */
export const setFollowed = (isNow: boolean): void => {
  isFollowed = isNow;
};

/** Takes one decision: of this visitor, of another, or of the clock. */
export const takeDecision = (decision: Decision, isOwn = false): void => {
  decisions.value = [decision, ...decisions.value.filter(({ id }) => id !== decision.id)].slice(0, MOST_DECISIONS);
  const shown = shownApprovals.peek();
  if (shown === undefined) return;
  shownApprovals.value = bounded(
    shown.map((one) =>
      one.approval.id === decision.id ? { ...one, ended: decision, isOwn: isOwn || one.isOwn === true } : one,
    ),
  );
};

/** Takes the decisions that are kept at the agent servers. */
export const takeDecisions = (kept: readonly Decision[]): void => {
  const known = new Set(kept.map(({ id }) => id));
  decisions.value = [...kept, ...decisions.value.filter(({ id }) => !known.has(id))]
    .sort((left, right) => right.at - left.at)
    .slice(0, MOST_DECISIONS);
  if (shownApprovals.peek() !== undefined) takeOpen(list);
};

/** Takes requests that have ended off the page: one, or all. */
export const hideEnded = (id?: string): void => {
  shownApprovals.value = shownApprovals.value?.filter(
    (shown) => isOpen(shown) || (id !== undefined && shown.approval.id !== id),
  );
};

/** What became of an answer: taken; too late, and what had been decided; or not taken, as other arguments were shown. */
export type ReplyOutcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'too-late'; readonly decision?: Decision }
  | { readonly kind: 'arguments-changed' };

/** Who decided, as the console says after it has checked the agent server's answer; nothing where it is not known. */
const decidedIn = ({ details }: ApiError, approval: Approval): Decision | undefined =>
  details.decided === undefined
    ? undefined
    : { ...ownDecision(approval, 'cancelled'), ...(details.decided as Partial<Decision>), id: approval.id };

/** Loads the open requests and the kept decisions. */
export const loadApprovals = async (signal?: AbortSignal): Promise<void> => {
  const { decided, unread, ...next } = await api.get<ApprovalList & RecentDecisions>('/api/approvals', signal);
  if (!isFollowed) takeOpen(next);
  unreadAgents.value = unread;
  takeDecisions(decided);
};

const LOOK_AGAIN_MS = 5000;
let looking: Promise<void> | undefined;
let isAskedAgain = false;
/** Asks who decided what, until that has an answer. */
const loadDecisions = (): Promise<void> => {
  isAskedAgain = looking !== undefined;
  looking ??= loadApprovals()
    .catch((error: unknown) => {
      const isOver = error instanceof ApiError && error.status === 401;
      if (!isOver) setTimeout(() => void loadDecisions(), LOOK_AGAIN_MS);
    })
    .then(() => {
      looking = undefined;
      if (isAskedAgain) void loadDecisions();
    });
  return looking;
};

/**
 * Answers a request, with the hash of the arguments that were shown. Resolves also when somebody else was faster: then the
 * request shows who. Throws `ApiError` for anything else.
 */
export const replyTo = async (approval: Approval, reply: AnswerWord, message?: string): Promise<ReplyOutcome> => {
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
    if (decision === undefined) return { kind: 'too-late' };
    takeDecision(decision);
    return { kind: 'too-late', decision };
  }
};
