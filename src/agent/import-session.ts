import type { Clock } from '../core/clock.ts';
import type { EventDraft } from './event.ts';
import { withFreshIds } from './fresh-ids.ts';
import type { Ids } from './ids.ts';
import { OrphanError } from './orphan-error.ts';
import { partUpdated } from './part-facts.ts';
import type { Session } from './session.ts';
import type { KeptSession, SessionDocument } from './session-document.ts';
import { SessionProblem } from './session-problem.ts';
import type { Change, Store } from './store.ts';

export type ImportNeeds = {
  readonly store: Pick<Store, 'session' | 'commit'>;
  readonly ids: Ids;
  readonly clock: Clock;
};

const INSTEAD = 'a copy with new ids can be imported instead (--new-ids)';

const changesOf = ({ info, messages }: KeptSession): readonly Change[] => [
  { kind: 'session', session: info },
  ...messages.flatMap(({ info: message, parts, outputs }): Change[] => [
    { kind: 'message', message },
    ...parts.map((part) => ({ kind: 'part' as const, part })),
    ...outputs.map(({ partID, text }) => ({ kind: 'output' as const, sessionID: info.id, partID, text })),
  ]),
];

const draftsOf = ({ info, messages }: KeptSession, now: number): readonly EventDraft[] => [
  { type: 'session.created', properties: { sessionID: info.id, info } },
  ...messages.flatMap(({ info: message, parts }): EventDraft[] => [
    { type: 'message.updated', properties: { sessionID: info.id, info: message } },
    ...parts.map((part) => partUpdated(part, now)),
  ]),
];

/** The parent of the first session may be left behind: without it the session is one of those that have none. */
const withKnownParent = async ({ store }: ImportNeeds, kept: KeptSession): Promise<KeptSession> => {
  const { parentID, ...info } = kept.info;
  if (parentID === undefined || (await store.session(parentID)) !== undefined) return kept;
  return { ...kept, info };
};

const refuseTaken = async ({ store }: ImportNeeds, sessions: readonly KeptSession[]): Promise<void> => {
  const complaints: string[] = [];
  for (const [index, { info }] of sessions.entries()) {
    if ((await store.session(info.id)) !== undefined)
      complaints.push(`sessions[${index}]: its id is taken; ${INSTEAD}`);
  }
  if (complaints.length > 0) throw new SessionProblem(complaints);
};

/**
 * Keeps the sessions of a document, each whole or not at all, and answers with the id of the first. Answers that were not
 * completed stay so until a server starts and ends them. A `SessionProblem` says that ids are taken, and then nothing is kept.
 */
export const importSession = async (
  needs: ImportNeeds,
  document: SessionDocument,
  { hasNewIDs }: { readonly hasNewIDs: boolean },
): Promise<string> => {
  const { store, ids, clock } = needs;
  const { sessions } = hasNewIDs ? withFreshIds(document, ids) : document;
  await refuseTaken(needs, sessions);
  const kept: Session[] = [];
  const takeBack = async (): Promise<void> => {
    for (const info of kept.reverse()) {
      const draft: EventDraft = { type: 'session.deleted', properties: { sessionID: info.id, info } };
      await store.commit([{ kind: 'session-removed', sessionID: info.id }], [{ directory: info.directory, draft }]);
    }
  };
  for (const [index, given] of sessions.entries()) {
    const session = index === 0 ? await withKnownParent(needs, given) : given;
    const { directory } = session.info;
    const told = draftsOf(session, clock.now()).map((draft) => ({ directory, draft }));
    try {
      await store.commit(changesOf(session), told);
    } catch (error) {
      if (!(error instanceof OrphanError)) throw error;
      await takeBack();
      throw new SessionProblem([`sessions[${index}]: the id of a ${error.kind} in it is taken; ${INSTEAD}`]);
    }
    kept.push(session.info);
  }
  return sessions[0]?.info.id ?? '';
};
