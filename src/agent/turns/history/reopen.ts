import { joinPublications } from '../../events/publisher.ts';
import { partPublication } from '../../events/records.ts';
import { CLIENT_TOOL, isClientCall } from '../../protocol/call-metadata.ts';
import type { Session, ToolPart } from '../../protocol/types.ts';
import type { SessionParts } from '../../session/sessions.ts';
import { turnRefusal } from '../refusals.ts';

const toRunning = (part: ToolPart, start: number): ToolPart => {
  const { input } = part.state;
  const written = part.state.status === 'pending' ? undefined : part.state.metadata?.arguments;
  const metadata = { ...CLIENT_TOOL, ...(written === undefined ? {} : { arguments: written }) };
  return { ...part, state: { status: 'running', input, title: part.tool, metadata, time: { start } } };
};

/**
 * Has a session wait again for the results of the calls of its last message: in an imported history, in a fork, after their time, or
 * where results were stored before a prompt that never came. No model has read a result of them there. A turnRefusal where one of the
 * calls is not there.
 */
export const reopenCalls = async (
  { store, sessions, clock, clientToolTimeoutMs }: SessionParts,
  session: Session,
  callIDs: readonly string[],
): Promise<Session> => {
  const [last] = await store.messages(session.id, { limit: 1 });
  const calls = (last?.parts ?? []).filter((part): part is ToolPart => part.type === 'tool' && isClientCall(part));
  const unknown = callIDs.filter((id) => !calls.some(({ callID }) => callID === id));
  if (last === undefined || unknown.length > 0) throw turnRefusal('unknown_call', { callIDs: unknown });
  const now = clock.now();
  const awaited = calls.map(({ callID }) => callID);
  const awaitedCalls = { messageID: last.info.id, callIDs: awaited, expiresAt: now + clientToolTimeoutMs };
  return sessions.update(
    session.id,
    (before) => ({ ...before, awaitedCalls }),
    (changed) => joinPublications(changed, ...calls.map((part) => partPublication(toRunning(part, now), now))),
  );
};
