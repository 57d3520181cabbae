import type { Clock } from '../core/clock.ts';
import { modelNamed, type Voices } from './agents/catalog.ts';
import { type Fact, joined } from './events/publisher.ts';
import { messageFact } from './events/records.ts';
import type { UserMessage } from './message.ts';
import { createMessageIDs } from './message-ids.ts';
import { partFact } from './part-facts.ts';
import type { Ids } from './protocol/ids.ts';
import type { CompactionPart } from './protocol/types.ts';
import { agentFor } from './session/prompt.ts';
import { droppedFact, withoutRevert } from './session/revert.ts';
import { noSession, type Sessions } from './session/sessions.ts';
import type { ModelRef, Session } from './session.ts';
import type { Store, Told } from './store/store.ts';

export type SummaryRequestNeeds = {
  readonly store: Pick<Store, 'messages' | 'outline'>;
  readonly sessions: Pick<Sessions, 'get' | 'update'>;
  readonly voices: Voices;
  readonly ids: Ids;
  readonly clock: Clock;
  /** Whether a session is being removed: it takes nothing in any more. */
  readonly isClosing: (sessionID: string) => boolean;
};

/** Whether a message asks for a summary rather than for an answer. */
export const asksForSummary = ({ parts }: Pick<Told, 'parts'>): boolean =>
  parts.some((part) => part.type === 'compaction' && !part.auto);

/**
 * Takes in that somebody wants a session to be summed up, by a model of that person's choice; it waits in line like a
 * prompt. Nothing when nothing was said yet.
 */
export const requestSummary = async (
  { store, sessions, voices, ids, clock, isClosing }: SummaryRequestNeeds,
  sessionID: string,
  asked: ModelRef,
): Promise<{ readonly session: Session; readonly user: UserMessage } | undefined> => {
  const before = await sessions.get(sessionID);
  const model = modelNamed(voices, asked);
  const agent = agentFor(voices, before, undefined).name;
  if ((await store.outline(sessionID, { limit: 1 })).length === 0) return undefined;
  const now = clock.now();
  const id = await createMessageIDs({ store, ids })(sessionID);
  const user: UserMessage = { id, sessionID, role: 'user', time: { created: now }, agent, model };
  const part: CompactionPart = { id: ids('part'), sessionID, messageID: id, type: 'compaction', auto: false };
  let dropped: Fact = {};
  const goOn = async (session: Session): Promise<Session> => {
    dropped = await droppedFact(store, session);
    if (isClosing(sessionID)) throw noSession();
    return withoutRevert(session);
  };
  const request = joined(messageFact(user), partFact(part, now));
  const session = await sessions.update(sessionID, goOn, (changed) => joined(changed, dropped, request));
  return { session, user };
};
