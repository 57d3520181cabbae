import { requireModel } from '../agents/catalog.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { answerStatePublication, messagePublication, partPublication } from '../events/records.ts';
import type { CompactionPart, ModelRef, Session, UserMessage } from '../protocol/types.ts';
import { createMessageIDs } from '../session/message-ids.ts';
import { agentFor } from '../session/prompt.ts';
import { revertedRemoval, withoutRevert } from '../session/revert.ts';
import { notFound, type SessionParts } from '../session/sessions.ts';
import type { MessageWithParts } from '../store/store.ts';

/** Whether a message asks for a summary rather than for an answer. */
export const isSummaryRequest = ({ parts }: Pick<MessageWithParts, 'parts'>): boolean =>
  parts.some((part) => part.type === 'compaction' && !part.auto);

/**
 * Stores a request for a summary of a session by a model of the caller's choice; it is queued like a prompt. Undefined when
 * the session has no message yet.
 */
export const requestSummary = async (
  { store, sessions, catalog, ids, clock, runs }: SessionParts,
  sessionID: string,
  requested: ModelRef,
): Promise<{ readonly session: Session; readonly user: UserMessage } | undefined> => {
  const before = await sessions.get(sessionID);
  const model = requireModel(catalog, requested);
  const agent = agentFor(catalog, before, undefined).name;
  if ((await store.messageOutlines(sessionID, { limit: 1 })).length === 0) return undefined;
  const now = clock.now();
  const id = await createMessageIDs({ store, ids })(sessionID);
  const user: UserMessage = { id, sessionID, role: 'user', time: { created: now }, agent, model };
  const part: CompactionPart = { id: ids('part'), sessionID, messageID: id, type: 'compaction', auto: false };
  let dropped: Publication = {};
  const continueSession = async (session: Session): Promise<Session> => {
    dropped = await revertedRemoval(store, session);
    if (runs.isClosing(sessionID)) throw notFound('session', sessionID);
    return withoutRevert(session);
  };
  const owed = answerStatePublication(user, 'owed');
  const request = joinPublications(messagePublication(user), partPublication(part, now), owed);
  const session = await sessions.update(sessionID, continueSession, (changed) =>
    joinPublications(changed, dropped, request),
  );
  return { session, user };
};
