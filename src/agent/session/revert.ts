import { Fault } from '../../core/fault.ts';
import type { Fact } from '../events/publisher.ts';
import type { EventDraft } from '../protocol/events.ts';
import type { Revert, Session } from '../session.ts';
import type { Change, Store } from '../store/store.ts';
import { droppedBy, revertTo } from '../turned-back.ts';
import type { Runs } from './run-queue.ts';
import type { Sessions } from './sessions.ts';

export type RevertNeeds = {
  readonly store: Pick<Store, 'messages'>;
  readonly sessions: Pick<Sessions, 'get' | 'update'>;
  readonly runs: Pick<Runs, 'statuses'>;
};

/** Refuses what would change what is said in a session while an answer is under way there. */
export const refuseBusy = async (runs: Pick<Runs, 'statuses'>, sessionID: string): Promise<void> => {
  if (!Object.hasOwn(await runs.statuses(), sessionID)) return;
  throw new Fault({ kind: 'conflict', message: 'The session is busy. Abort it first, or wait until it is idle' });
};

const noSuch = (what: string) => new Fault({ kind: 'not-found', hint: `${what} not found` });

/** Turns a session back to a message, until the next prompt or until that is taken back. Nothing is removed yet. */
export const revertSession = async (
  { store, sessions, runs }: RevertNeeds,
  sessionID: string,
  asked: Revert,
): Promise<Session> => {
  await sessions.get(sessionID);
  await refuseBusy(runs, sessionID);
  const revert = revertTo(await store.messages(sessionID), asked);
  if (revert === undefined) throw noSuch(asked.partID === undefined ? 'Message' : 'Part');
  return sessions.update(sessionID, (session) => ({ ...session, revert }));
};

/** The session as if it had never been turned back. */
export const withoutRevert = ({ revert: _, ...session }: Session): Session => session;

export const unrevertSession = async ({ sessions, runs }: RevertNeeds, sessionID: string): Promise<Session> => {
  const session = await sessions.get(sessionID);
  if (session.revert === undefined) return session;
  await refuseBusy(runs, sessionID);
  return sessions.update(sessionID, withoutRevert);
};

/** Messages removed, kept so and told. */
export const removedFact = (sessionID: string, messageIDs: readonly string[]): Fact =>
  messageIDs.length === 0
    ? {}
    : {
        changes: [{ kind: 'messages-removed', sessionID, messageIDs }],
        drafts: messageIDs.map((messageID): EventDraft => {
          return { type: 'message.removed', properties: { sessionID, messageID } };
        }),
      };

/** What was said from where a session was turned back to, removed. Nothing where it was not, or was meanwhile. */
export const droppedFact = async (store: Pick<Store, 'messages'>, { id, revert }: Session): Promise<Fact> => {
  if (revert === undefined) return {};
  const { messageIDs, parts } = droppedBy(await store.messages(id), revert);
  const messages = removedFact(id, messageIDs);
  if (parts.length === 0) return messages;
  const cut: Change = { kind: 'parts-removed', sessionID: id, partIDs: parts.map((part) => part.id) };
  const told = parts.map((part): EventDraft => {
    const properties = { sessionID: id, messageID: part.messageID, partID: part.id };
    return { type: 'message.part.removed', properties };
  });
  return { changes: [...(messages.changes ?? []), cut], drafts: [...(messages.drafts ?? []), ...told] };
};
