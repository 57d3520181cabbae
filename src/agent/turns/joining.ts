import type { Turn } from '../protocol/turns.ts';

/** What a turn is doing, or how it has ended. `calls`: with calls of client tools. */
export type TurnStatus =
  | 'queued'
  | 'running'
  | 'waiting'
  | 'calls'
  | 'completed'
  | 'failed'
  | 'aborted'
  /** Another turn has what follows. */
  | 'continued';

/** Whether more of a turn's output is to come. */
export const isOpenStatus = (status: TurnStatus): boolean =>
  status === 'queued' || status === 'running' || status === 'waiting';

/** A turn that an equal request has begun. */
export type JoinCandidate = {
  readonly turn: Turn;
  readonly status: TurnStatus;
  readonly endedMs?: number | undefined;
  /** The tools of the agent that it has called. */
  readonly tools: readonly string[];
};

/** The request that may join. */
type JoiningRequest = {
  readonly key?: string | undefined;
  readonly digest?: string | undefined;
  readonly isRetry: boolean;
  readonly nowMs: number;
};

/**
 * What becomes of the request. `isFirstOnly`: only if no other one has joined the turn meanwhile. `released`: the turn that has to
 * give its key up.
 */
export type Joining =
  | { readonly kind: 'joined'; readonly turn: Turn; readonly isFirstOnly?: boolean }
  | { readonly kind: 'begun'; readonly released?: Turn }
  | { readonly kind: 'key-reused' }
  | { readonly kind: 'aborted'; readonly tools: readonly string[] };

const KEY_LIFE_MS = 86_400_000;
/** How long an equal request without a key may join a turn that has ended. */
const DIGEST_LIFE_MS = 600_000;
/** How long an answer that was read whole is given again. */
export const READ_AGAIN_MS = 10_000;
/** How long a failure is given again. */
const FAILED_AGAIN_MS = 5000;
const LEFT_MS = 10_000;

/** Nobody has read it for so long that it is aborted, now or in a moment. */
const isGivenUp = ({ turn, status }: JoinCandidate, nowMs: number): boolean =>
  isOpenStatus(status) &&
  turn.readers.length === 0 &&
  turn.leftMs !== undefined &&
  turn.abortAfterMs !== null &&
  nowMs - turn.leftMs >= turn.abortAfterMs;

/** An answer without its end is no answer. */
const hasNoEnd = (candidate: JoinCandidate, nowMs: number): boolean =>
  candidate.status === 'aborted' || isGivenUp(candidate, nowMs);

/** One without its end is begun anew, unless that would make calls a second time. */
const joinOrBegin = (candidate: JoinCandidate, { key, nowMs }: JoiningRequest): Joining => {
  const { turn, tools } = candidate;
  if (!hasNoEnd(candidate, nowMs)) return { kind: 'joined', turn };
  if (tools.length > 0) return { kind: 'aborted', tools };
  return key === undefined ? { kind: 'begun' } : { kind: 'begun', released: turn };
};

const isRecent = ({ turn, status, endedMs = turn.createdMs }: JoinCandidate, nowMs: number): boolean =>
  isOpenStatus(status) || nowMs - endedMs < DIGEST_LIFE_MS;

const endedWithin = ({ status, endedMs = 0 }: JoinCandidate, nowMs: number, limitMs: number): boolean =>
  isOpenStatus(status) || nowMs - endedMs < limitMs;

/** A failure that a client may try again under its key: it has had no effect. */
const isToTryAgain = (candidate: JoinCandidate, nowMs: number): boolean =>
  candidate.status === 'failed' && candidate.tools.length === 0 && !endedWithin(candidate, nowMs, FAILED_AGAIN_MS);

/** For a request whose key a turn has. */
export const joinByKey = (candidate: JoinCandidate, request: JoiningRequest): Joining => {
  const { turn } = candidate;
  if (request.nowMs - turn.createdMs >= KEY_LIFE_MS) return { kind: 'begun', released: turn };
  if (turn.digest !== request.digest) return { kind: 'key-reused' };
  return isToTryAgain(candidate, request.nowMs) ? { kind: 'begun', released: turn } : joinOrBegin(candidate, request);
};

/** For results that a turn has had already: it is given again, but not where it has no answer. */
export const joinsResults = (candidate: JoinCandidate, nowMs: number): boolean =>
  candidate.status !== 'aborted' && candidate.status !== 'failed' && !isGivenUp(candidate, nowMs);

/** For a retry: an answer that it may not have got. */
const isForRetry = (candidate: JoinCandidate, nowMs: number): boolean => {
  const { readMs } = candidate.turn;
  return isOpenStatus(candidate.status) || readMs === undefined || nowMs - readMs < READ_AGAIN_MS;
};

const isLeft = ({ turn: { readers, leftMs, readMs } }: JoinCandidate): boolean =>
  readers.length === 0 && leftMs !== undefined && readMs === undefined;

/** For a request that does not say that it is a retry: an answer whose reader has left before its end, and no other. */
const isAbandoned = (candidate: JoinCandidate, nowMs: number): boolean =>
  isLeft(candidate) &&
  candidate.turn.joins === 0 &&
  endedWithin(candidate, nowMs, candidate.turn.abortAfterMs ?? LEFT_MS);

/** For a request without a key. The candidates have its digest, the newest first. */
export const joinByDigest = (candidates: readonly JoinCandidate[], request: JoiningRequest): Joining => {
  const { nowMs, isRetry } = request;
  // One that would be begun anew may have been: then the newer one is joined.
  const recent = candidates.filter((one) => isRecent(one, nowMs) && (one.tools.length > 0 || !hasNoEnd(one, nowMs)));
  const failed = recent.find((one) => one.status === 'failed' && endedWithin(one, nowMs, FAILED_AGAIN_MS));
  const fitting = recent.filter((one) => (isRetry ? isForRetry(one, nowMs) : isAbandoned(one, nowMs)));
  const found = fitting.find(isLeft) ?? fitting[0] ?? failed;
  if (found === undefined) return { kind: 'begun' };
  const joining = joinOrBegin(found, request);
  return joining.kind === 'joined' ? { ...joining, isFirstOnly: !isRetry && found !== failed } : joining;
};
