import type { Responder } from '../agents/types.ts';
import type { EventDraft } from '../protocol/events.ts';
import {
  type AssistantMessage,
  type FilePart,
  type MessageError,
  type ModelRef,
  NO_TOKENS,
  type Part,
  type Session,
  type SessionStatus,
  type UserMessage,
} from '../protocol/types.ts';
import type { StoreChange } from '../store/store.ts';
import type { Publication } from './publisher.ts';

/** Longer files are left out of events: every event is stored, and sent to every listener. */
const FILE_LIMIT_CHARS = 64 * 1024;

const toEventFile = (part: FilePart): FilePart =>
  part.url.length > FILE_LIMIT_CHARS ? { ...part, url: `data:${part.mime};omitted,` } : part;

/**
 * A part as events hold it. The content of a file that is not small is left out: `data:<type>;omitted,` stands for it, and
 * the stored message has it.
 */
const toEventPart = (part: Part): Part => {
  if (part.type === 'file') return toEventFile(part);
  if (part.type !== 'tool' || part.state.status !== 'completed' || part.state.attachments === undefined) return part;
  return { ...part, state: { ...part.state, attachments: part.state.attachments.map(toEventFile) } };
};

/** The event with a part as it is now, but for the content of a large file. */
export const partUpdatedEvent = (part: Part, time: number): EventDraft => ({
  type: 'message.part.updated',
  properties: { sessionID: part.sessionID, part: toEventPart(part), time },
});

/** Stores a part and sends it. */
export const partPublication = (part: Part, time: number): Publication => ({
  changes: [{ kind: 'part', part }],
  drafts: [partUpdatedEvent(part, time)],
});

/** The same events, with consecutive deltas of one part as one delta. */
export const mergeDeltas = (drafts: readonly EventDraft[]): readonly EventDraft[] => {
  const result: EventDraft[] = [];
  for (const draft of drafts) {
    const last = result.at(-1);
    if (
      draft.type === 'message.part.delta' &&
      last?.type === 'message.part.delta' &&
      last.properties.partID === draft.properties.partID
    ) {
      const delta = last.properties.delta + draft.properties.delta;
      result[result.length - 1] = { ...last, properties: { ...last.properties, delta } };
    } else result.push(draft);
  }
  return result;
};

/** Which message of which session is answered, and by whom. */
export type Answered = { readonly session: Session; readonly user: UserMessage; readonly responder: Responder };

/** Id and time of a new message. */
type NewMessage = { readonly id: string; readonly now: number };

/** An answer without parts that is not complete. */
export const createAnswer = (
  { session, user }: { readonly session: Pick<Session, 'id' | 'directory'>; readonly user: Pick<UserMessage, 'id'> },
  { agent, model }: { readonly agent: string; readonly model: ModelRef },
  { id, now }: NewMessage,
): AssistantMessage => {
  const { providerID, modelID, variant } = model;
  return {
    id,
    sessionID: session.id,
    role: 'assistant',
    parentID: user.id,
    mode: agent,
    agent,
    modelID,
    providerID,
    ...(variant === undefined ? {} : { variant }),
    path: { cwd: session.directory, root: session.directory },
    time: { created: now },
    cost: 0,
    tokens: NO_TOKENS,
  };
};

/** The empty assistant message with which a step begins. */
export const createStepMessage = (answered: Answered, place: NewMessage): AssistantMessage => {
  const { agent, model } = answered.responder;
  return createAnswer(answered, { agent: agent.name, model: model.ref }, place);
};

/** A whole answer that is nothing but an error. */
export const createFailedAnswer = (
  answered: Pick<Answered, 'session' | 'user'>,
  { id, now, error }: NewMessage & { readonly error: MessageError },
): AssistantMessage => {
  const answer = createAnswer(answered, answered.user, { id, now });
  return { ...answer, error, finish: 'error', time: { created: now, completed: now } };
};

/** Stores what is owed for a prompt. Only a change: clients see it from the answer itself. */
export const answerStatePublication = (
  { sessionID, id }: Pick<UserMessage, 'sessionID' | 'id'>,
  state: Extract<StoreChange, { kind: 'answer' }>['state'],
): Publication => ({ changes: [{ kind: 'answer', sessionID, promptID: id, state }] });

/** Sends that a turn failed. */
export const sessionErrorPublication = (sessionID: string, error: MessageError): Publication => ({
  drafts: [{ type: 'session.error', properties: { sessionID, error } }],
});

/** Stores a message without its parts, and sends it. */
export const messagePublication = (
  info: AssistantMessage | UserMessage,
): { changes: StoreChange[]; drafts: EventDraft[] } => ({
  changes: [{ kind: 'message', message: info }],
  drafts: [{ type: 'message.updated', properties: { sessionID: info.sessionID, info } }],
});

/** Sends a session's status. Only events: a status is not part of the stored session. */
export const statusPublication = (sessionID: string, status: SessionStatus): Publication => ({
  drafts: [
    { type: 'session.status', properties: { sessionID, status } },
    ...(status.type === 'idle' ? [{ type: 'session.idle' as const, properties: { sessionID } }] : []),
  ],
});
