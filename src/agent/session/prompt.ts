import type { Clock } from '../../core/clock.ts';
import { type AgentCatalog, type KnownAgent, requireAgent, requireModel } from '../agents/catalog.ts';
import { type Fact, joined } from '../events/publisher.ts';
import { partUpdated } from '../events/records.ts';
import type { Ids } from '../protocol/ids.ts';
import type { PromptIn } from '../protocol/request-schemas.ts';
import type { FilePart, ModelRef, Session, TextPart, UserMessage } from '../protocol/types.ts';
import type { Store, Told } from '../store/store.ts';
import { createChosenIds, createMessageIDs } from './message-ids.ts';
import { droppedFact, withoutRevert } from './revert.ts';
import { noSession, refuseFull, type Sessions, sessionModel } from './sessions.ts';

export type PromptNeeds = {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly catalog: AgentCatalog;
  readonly ids: Ids;
  readonly clock: Clock;
  /** Whether a session is being removed: it takes nothing in any more. */
  readonly isClosing: (sessionID: string) => boolean;
};

export type Accepted = { readonly session: Session; readonly user: UserMessage; readonly told: Told };

const modelOf = (session: Session): ModelRef | undefined => {
  if (session.model === undefined) return undefined;
  const { providerID, id, variant } = session.model;
  return { providerID, modelID: id, ...(variant === undefined ? {} : { variant }) };
};

/** The one that is asked for, or else the session's own, which a prompt need not be free to name. */
export const agentFor = (catalog: AgentCatalog, session: Session, asked: string | undefined): KnownAgent => {
  const own = session.agent === undefined ? undefined : catalog.agents.get(session.agent);
  return asked === undefined && own !== undefined ? own : requireAgent(catalog, asked ?? catalog.defaultAgent);
};

const partsOf = (prompt: PromptIn, place: { readonly sessionID: string; readonly messageID: string }, ids: Ids) =>
  prompt.parts.map((part): TextPart | FilePart => {
    const placed = { id: ids('part'), ...place };
    if (part.type === 'text') {
      const { text, synthetic } = part;
      return { ...placed, type: 'text', text, ...(synthetic === undefined ? {} : { synthetic }) };
    }
    const { mime, url, filename } = part;
    return { ...placed, type: 'file', mime, url, ...(filename === undefined ? {} : { filename }) };
  });

const promptFact = (user: UserMessage, parts: readonly (TextPart | FilePart)[]): Fact => ({
  changes: [{ kind: 'message', message: user }, ...parts.map((part) => ({ kind: 'part' as const, part }))],
  drafts: [
    { type: 'message.updated', properties: { sessionID: user.sessionID, info: user } },
    ...parts.map((part) => partUpdated(part, user.time.created)),
  ],
});

/**
 * Takes a prompt in: checks whom it is for before anything is kept, and settles once the message is stored. A session
 * remembers the agent and the model that were asked for last.
 */
export const createAccept = ({ store, sessions, catalog, ids, clock, isClosing }: PromptNeeds) => {
  const chosen = createChosenIds({ store, clock });
  const nextID = createMessageIDs({ store, ids });
  const refuseClosing = (sessionID: string): void => {
    if (isClosing(sessionID)) throw noSession();
  };
  return async (sessionID: string, prompt: PromptIn): Promise<Accepted> => {
    const before = await sessions.get(sessionID);
    await refuseFull(store, sessionID, prompt);
    const agent = agentFor(catalog, before, prompt.agent);
    const asked = prompt.model ?? agent.model ?? modelOf(before) ?? catalog.defaultModel;
    const model = requireModel(catalog, prompt.variant === undefined ? asked : { ...asked, variant: prompt.variant });
    const keep = async (id: string): Promise<Accepted> => {
      const user: UserMessage = {
        id,
        sessionID,
        role: 'user',
        time: { created: clock.now() },
        agent: agent.name,
        model,
        ...(prompt.system === undefined ? {} : { system: prompt.system }),
        ...(prompt.tools === undefined ? {} : { tools: prompt.tools }),
      };
      const parts = partsOf(prompt, { sessionID, messageID: id }, ids);
      let dropped: Fact = {};
      const remember = async (now: Session): Promise<Session> => {
        dropped = await droppedFact(store, now);
        refuseClosing(sessionID);
        return { ...withoutRevert(now), agent: agent.name, model: sessionModel(model) };
      };
      const asked = promptFact(user, parts);
      const session = await sessions.update(sessionID, remember, (changed) => joined(changed, dropped, asked));
      refuseClosing(sessionID);
      return { session, user, told: { info: user, parts } };
    };
    const { messageID } = prompt;
    return messageID === undefined
      ? keep(await nextID(sessionID))
      : chosen(sessionID, messageID, () => keep(messageID));
  };
};
