import type { Clock } from '../../core/clock.ts';
import { type AgentCatalog, type KnownAgent, requireAgent, requireModel } from '../agents/catalog.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { partUpdatedEvent } from '../events/records.ts';
import type { Ids } from '../protocol/ids.ts';
import type { PromptBody } from '../protocol/request-schemas.ts';
import type { FilePart, ModelRef, Session, TextPart, UserMessage } from '../protocol/types.ts';
import type { MessageWithParts, Store } from '../store/store.ts';
import { createClientMessageIDs, createMessageIDs } from './message-ids.ts';
import { revertedRemoval, withoutRevert } from './revert.ts';
import { notFound, requireCapacity, type Sessions, toSessionModel } from './sessions.ts';

export type PromptAcceptanceNeeds = {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly catalog: AgentCatalog;
  readonly ids: Ids;
  readonly clock: Clock;
  /** Whether a session is being removed: it takes nothing in any more. */
  readonly isClosing: (sessionID: string) => boolean;
};

export type AcceptedPrompt = {
  readonly session: Session;
  readonly user: UserMessage;
  readonly message: MessageWithParts;
};

const toModelRef = (session: Session): ModelRef | undefined => {
  if (session.model === undefined) return undefined;
  const { providerID, id, variant } = session.model;
  return { providerID, modelID: id, ...(variant === undefined ? {} : { variant }) };
};

/** The one that is asked for, or else the session's own, which a prompt need not be free to name. */
export const agentFor = (catalog: AgentCatalog, session: Session, asked: string | undefined): KnownAgent => {
  const own = session.agent === undefined ? undefined : catalog.agents.get(session.agent);
  return asked === undefined && own !== undefined ? own : requireAgent(catalog, asked ?? catalog.defaultAgent);
};

const createPromptParts = (
  prompt: PromptBody,
  place: { readonly sessionID: string; readonly messageID: string },
  ids: Ids,
) =>
  prompt.parts.map((part): TextPart | FilePart => {
    const placed = { id: ids('part'), ...place };
    if (part.type === 'text') {
      const { text, synthetic } = part;
      return { ...placed, type: 'text', text, ...(synthetic === undefined ? {} : { synthetic }) };
    }
    const { mime, url, filename } = part;
    return { ...placed, type: 'file', mime, url, ...(filename === undefined ? {} : { filename }) };
  });

const promptPublication = (user: UserMessage, parts: readonly (TextPart | FilePart)[]): Publication => ({
  changes: [{ kind: 'message', message: user }, ...parts.map((part) => ({ kind: 'part' as const, part }))],
  drafts: [
    { type: 'message.updated', properties: { sessionID: user.sessionID, info: user } },
    ...parts.map((part) => partUpdatedEvent(part, user.time.created)),
  ],
});

/**
 * Takes a prompt in: checks whom it is for before anything is kept, and settles once the message is stored. A session
 * remembers the agent and the model that were asked for last.
 */
export const createPromptAcceptance = ({ store, sessions, catalog, ids, clock, isClosing }: PromptAcceptanceNeeds) => {
  const chosen = createClientMessageIDs({ store, clock });
  const nextID = createMessageIDs({ store, ids });
  const refuseClosing = (sessionID: string): void => {
    if (isClosing(sessionID)) throw notFound('session', sessionID);
  };
  return async (sessionID: string, prompt: PromptBody): Promise<AcceptedPrompt> => {
    const before = await sessions.get(sessionID);
    await requireCapacity(store, sessionID, prompt);
    const agent = agentFor(catalog, before, prompt.agent);
    const asked = prompt.model ?? agent.model ?? toModelRef(before) ?? catalog.defaultModel;
    const model = requireModel(catalog, prompt.variant === undefined ? asked : { ...asked, variant: prompt.variant });
    const keep = async (id: string): Promise<AcceptedPrompt> => {
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
      const parts = createPromptParts(prompt, { sessionID, messageID: id }, ids);
      let dropped: Publication = {};
      const remember = async (now: Session): Promise<Session> => {
        dropped = await revertedRemoval(store, now);
        refuseClosing(sessionID);
        return { ...withoutRevert(now), agent: agent.name, model: toSessionModel(model) };
      };
      const asked = promptPublication(user, parts);
      const session = await sessions.update(sessionID, remember, (changed) =>
        joinPublications(changed, dropped, asked),
      );
      refuseClosing(sessionID);
      return { session, user, message: { info: user, parts } };
    };
    const { messageID } = prompt;
    return messageID === undefined
      ? keep(await nextID(sessionID))
      : chosen(sessionID, messageID, () => keep(messageID));
  };
};
