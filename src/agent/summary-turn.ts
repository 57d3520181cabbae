import { type Fact, joined } from './events/publisher.ts';
import { type Answered, messageFact } from './events/records.ts';
import type { AssistantMessage } from './message.ts';
import { statusFact } from './status-fact.ts';
import { type CloseSummary, writeSummary } from './turn/compaction.ts';
import { isExpectedEnd, messageErrorOf } from './turn/errors.ts';
import type { TurnNeeds } from './turn/turn.ts';

/**
 * Answers a request for a summary: the turn is that one message. As with any turn, whatever goes wrong ends as its error,
 * and nothing is then in the place of what was said.
 */
export const runSummary = async (needs: TurnNeeds, asked: Answered, signal: AbortSignal): Promise<AssistantMessage> => {
  const { publish, store, onBug } = needs;
  const { session, user: request } = asked;
  const sessionID = session.id;
  let closed: AssistantMessage | undefined;
  const close: CloseSummary = async ({ message, more, error: failure }) => {
    const error = failure === undefined ? undefined : messageErrorOf(failure, message.providerID);
    closed = error === undefined ? message : { ...message, error };
    const told: Fact =
      error === undefined ? {} : { drafts: [{ type: 'session.error', properties: { sessionID, error } }] };
    return joined(messageFact(closed), more, told, await needs.atEnd());
  };
  await publish(statusFact(sessionID, { type: 'busy' }));
  try {
    await writeSummary({ ...needs, said: await store.messages(sessionID) }, { asked, request, close }, signal);
  } catch (error) {
    if (!isExpectedEnd(error)) onBug(error);
    if (closed === undefined) throw error;
  }
  if (closed === undefined) throw new Error('A summary ended without its message');
  return closed;
};
