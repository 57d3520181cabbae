import { isNotFound } from '../../core/fault.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { partPublication } from '../events/records.ts';
import { UNANSWERED } from '../protocol/call-metadata.ts';
import type { Part, Session, ToolPart, ToolState } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import type { Store } from '../store/store.ts';
import type { Sessions } from './sessions.ts';

/** What a model reads of a call of a client tool whose result is not waited for any more. */
export const CALL_NOT_AWAITED = {
  prompted: 'The user went on without a result of this call.',
  aborted: 'The call was aborted before its result came.',
  reverted: 'The session was reverted before the result of this call came.',
  expired: 'The result of this call did not come in time.',
  copied: 'This is a copy of the session, and the result of this call went to the original.',
} as const;

/** The calls whose results a session waits for, in their order. */
export const readAwaitedCalls = async (
  store: Pick<Store, 'message'>,
  { id, awaitedCalls }: Pick<Session, 'id' | 'awaitedCalls'>,
): Promise<readonly ToolPart[]> => {
  if (awaitedCalls === undefined) return [];
  const { messageID, callIDs } = awaitedCalls;
  const parts = (await store.message(id, messageID))?.parts ?? [];
  return parts.filter(
    (part): part is ToolPart =>
      part.type === 'tool' && part.state.status === 'running' && callIDs.includes(part.callID),
  );
};

/** A call as it is stored once no result is waited for. */
const withoutResult = (part: ToolPart, why: string, now: number): ToolPart => {
  const { input } = part.state;
  const start = part.state.status === 'running' ? part.state.time.start : now;
  return { ...part, state: { status: 'error', input, error: why, metadata: UNANSWERED, time: { start, end: now } } };
};

/** The session without the calls that it waits for. */
export const withoutAwaitedCalls = ({ awaitedCalls: _, ...session }: Session): Session => session;

/**
 * What ends all calls that a session waits for, to be stored together with the session as `withoutAwaitedCalls` has it: that
 * session is changed only by who has read it as it is now, so a result that comes at the same time counts, or this does.
 */
export const awaitedCallsEnd = async (
  store: Pick<Store, 'message'>,
  session: Session,
  { why, now }: { readonly why: string; readonly now: number },
): Promise<Publication> => {
  const calls = await readAwaitedCalls(store, session);
  return joinPublications(...calls.map((part) => partPublication(withoutResult(part, why, now), now)));
};

type EndingNeeds = AgentRuntime & { readonly sessions: Sessions };
type Ending = {
  readonly why: string;
  /** Only where this holds; always without it. */
  readonly isMeant?: (session: Session) => boolean;
  /** The lease of a run, under which it is stored. */
  readonly leaseID?: string | undefined;
};

/** Ends all calls that a session waits for, and returns the session. It changes nothing where there are none. */
export const endAwaitedCalls = async (
  { store, sessions, clock }: EndingNeeds,
  sessionID: string,
  { why, isMeant = () => true, leaseID }: Ending,
): Promise<Session> => {
  const isWaiting = (session: Session): boolean => session.awaitedCalls !== undefined && isMeant(session);
  const before = await sessions.get(sessionID);
  if (!isWaiting(before)) return before;
  let end: Publication = {};
  const change = async (session: Session): Promise<Session> => {
    const isStill = isWaiting(session);
    end = isStill ? await awaitedCallsEnd(store, session, { why, now: clock.now() }) : {};
    return isStill ? withoutAwaitedCalls(session) : session;
  };
  return sessions.update(sessionID, change, (changed) => ({ ...joinPublications(changed, end), leaseID }));
};

const isExpired = ({ awaitedCalls }: Session, now: number): boolean =>
  awaitedCalls !== undefined && awaitedCalls.expiresAt <= now;

/** As `endAwaitedCalls`, for calls whose results did not come in time. */
export const endExpiredCalls = (needs: EndingNeeds, sessionID: string): Promise<Session> =>
  endAwaitedCalls(needs, sessionID, {
    why: CALL_NOT_AWAITED.expired,
    isMeant: (session) => isExpired(session, needs.clock.now()),
  });

/** Does that in all sessions. Of several servers the first one ends a call. */
export const endAllExpiredCalls = async (needs: EndingNeeds): Promise<void> => {
  for (const session of await needs.store.awaitingSessions())
    if (isExpired(session, needs.clock.now()))
      await endExpiredCalls(needs, session.id).catch((error: unknown) => {
        // Somebody may have removed the session meanwhile.
        if (!isNotFound(error)) throw error;
      });
};

const CALL_NOT_MADE = 'The server was stopped before this call was made, so it was not made';
const CALL_OUTCOME_UNKNOWN =
  'The server was stopped while this call was under way; whether it was carried out is not known';

/** A call gets the status `running` before it is made. Until then it waits, for its arguments or for a person. */
const endCall = (state: ToolState, now: number): ToolState | undefined => {
  const { status, input } = state;
  if (status === 'pending') return { status: 'error', input, error: CALL_NOT_MADE, time: { start: now, end: now } };
  if (status !== 'running') return undefined;
  if (state.metadata?.clientTool === true)
    return {
      status: 'error',
      input,
      error: CALL_NOT_AWAITED.copied,
      metadata: UNANSWERED,
      time: { start: state.time.start, end: now },
    };
  return { status: 'error', input, error: CALL_OUTCOME_UNKNOWN, time: { start: state.time.start, end: now } };
};

/** A part that was incomplete when the process ended, as it is stored from now on; undefined for a complete one. */
export const endPart = (part: Part, now: number): Part | undefined => {
  if (part.type === 'tool') {
    const state = endCall(part.state, now);
    return state === undefined ? undefined : { ...part, state };
  }
  if ((part.type === 'text' || part.type === 'reasoning') && part.time !== undefined && part.time.end === undefined) {
    return { ...part, time: { start: part.time.start, end: now } };
  }
  return undefined;
};
