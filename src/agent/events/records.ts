import type { Voice } from '../agents/types.ts';
import type { AssistantMessage, UserMessage } from '../message.ts';
import type { EventDraft } from '../protocol/events.ts';
import { NO_TOKENS, type Session } from '../session.ts';
import type { Change } from '../store/store.ts';

/** Who answers which message, and where. */
export type Answered = { readonly session: Session; readonly user: UserMessage; readonly voice: Voice };

/** The message with which a step begins. */
export const openedMessage = (
  { session, user, voice }: Answered,
  { id, now }: { readonly id: string; readonly now: number },
): AssistantMessage => {
  const { providerID, modelID, variant } = voice.model.ref;
  return {
    id,
    sessionID: session.id,
    role: 'assistant',
    parentID: user.id,
    mode: voice.agent.name,
    agent: voice.agent.name,
    modelID,
    providerID,
    ...(variant === undefined ? {} : { variant }),
    path: { cwd: session.directory, root: session.directory },
    time: { created: now },
    cost: 0,
    tokens: NO_TOKENS,
  };
};

/** A message kept and told. */
export const messageFact = (info: AssistantMessage | UserMessage): { changes: Change[]; drafts: EventDraft[] } => ({
  changes: [{ kind: 'message', message: info }],
  drafts: [{ type: 'message.updated', properties: { sessionID: info.sessionID, info } }],
});
