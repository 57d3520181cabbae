import type { Clock } from '../../core/clock.ts';
import { joinPublications } from '../events/publisher.ts';
import { partPublication } from '../events/records.ts';
import { CLIENT_TOOL, isClientCall } from '../protocol/call-metadata.ts';
import type { Session, ToolPart } from '../protocol/types.ts';
import type { Sessions } from '../session/sessions.ts';
import type { Store } from '../store/store.ts';
import { refusal } from './refusals.ts';

type ReopenNeeds = {
  readonly store: Pick<Store, 'messages'>;
  readonly sessions: Pick<Sessions, 'update'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly clientToolTimeoutMs: number;
};

type Reopened = {
  readonly callIDs: readonly string[];
  /** A copy of the session: results that the original has got are given again. */
  readonly isCopy: boolean;
};

const isUnanswered = ({ state }: ToolPart): boolean => state.status === 'error' && state.metadata?.unanswered === true;

const toRunning = (part: ToolPart, start: number): ToolPart => {
  const { input } = part.state;
  const written = part.state.status === 'pending' ? undefined : part.state.metadata?.arguments;
  const metadata = { ...CLIENT_TOOL, ...(written === undefined ? {} : { arguments: written }) };
  return { ...part, state: { status: 'running', input, title: part.tool, metadata, time: { start } } };
};

/**
 * Has a session wait for the results of calls that ended without one: those of its last answer, in an imported history, in a fork, or
 * after their time. A refusal where one of them is not there.
 */
export const reopenCalls = async (
  { store, sessions, clock, clientToolTimeoutMs }: ReopenNeeds,
  session: Session,
  { callIDs, isCopy }: Reopened,
): Promise<Session> => {
  const [last] = await store.messages(session.id, { limit: 1 });
  const calls = (last?.parts ?? []).filter(
    (part): part is ToolPart => part.type === 'tool' && isClientCall(part) && (isCopy || isUnanswered(part)),
  );
  const unknown = callIDs.filter((id) => !calls.some(({ callID }) => callID === id));
  if (last === undefined || unknown.length > 0) throw refusal('unknown_call', { callIDs: unknown });
  const now = clock.now();
  const awaited = calls.map(({ callID }) => callID);
  const awaitedCalls = { messageID: last.info.id, callIDs: awaited, expiresAt: now + clientToolTimeoutMs };
  return sessions.update(
    session.id,
    (before) => ({ ...before, awaitedCalls }),
    (changed) => joinPublications(changed, ...calls.map((part) => partPublication(toRunning(part, now), now))),
  );
};
