import { Fault } from '../../core/fault.ts';
import { type CompileSchema, SchemaError } from '../../core/json.ts';
import { type AgentCatalog, type KnownAgent, requireAgent, requireModel } from '../agents/catalog.ts';
import { joinPublications, type Publication } from '../events/publisher.ts';
import { answerStatePublication, partUpdatedEvent } from '../events/records.ts';
import type { PromptBody } from '../protocol/request-schemas.ts';
import type {
  ClientTools,
  FilePart,
  ModelRef,
  OutputFormat,
  Session,
  TextPart,
  UserMessage,
} from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import type { LeaseRequest, MessageWithParts } from '../store/store.ts';
import { awaitedCallsEnd, CALL_NOT_AWAITED, withoutAwaitedCalls } from './awaited-calls.ts';
import { createClientMessageIDs } from './message-ids.ts';
import { revertedRemoval, withoutRevert } from './revert.ts';
import { notFound, requireCapacity, type Sessions, sessionCreation, toSessionModel } from './sessions.ts';

/** What `createPromptAcceptance` works with. */
type PromptAcceptanceNeeds = AgentRuntime & {
  readonly sessions: Sessions;
  /** Checks the tools of a client; undefined where there are none. A `bad-input` fault says what is wrong. */
  readonly usableClientTools: (given: PromptBody['clientTools']) => ClientTools | undefined;
  /** Whether a session is being removed: it accepts no prompts any more. */
  readonly isClosing: (sessionID: string) => boolean;
};

/** A prompt that is stored, with its session as it is after that. */
export type AcceptedPrompt = {
  readonly session: Session;
  readonly user: UserMessage;
  readonly message: MessageWithParts;
};

/** Messages to store before a prompt, and the id of the last of them. */
type EarlierMessages = { readonly publication: Publication; readonly lastID: string | undefined };

type PromptConditions = {
  readonly isOwed: boolean;
  /** A new or hidden session, which is stored with the prompt. */
  readonly opened?: Session | undefined;
  /** Messages that are stored before it; it is given the id of the last one that the session has. */
  readonly earlier?: ((lastID: string | undefined) => EarlierMessages) | undefined;
  /** What else is stored and sent in its commit. */
  readonly also?: (user: UserMessage) => Publication;
};

/** Stores a prompt. */
export type AcceptPrompt = (
  sessionID: string,
  prompt: PromptBody,
  conditions: PromptConditions,
) => Promise<AcceptedPrompt>;

const toModelRef = (session: Session): ModelRef | undefined => {
  if (session.model === undefined) return undefined;
  const { providerID, id, variant } = session.model;
  return { providerID, modelID: id, ...(variant === undefined ? {} : { variant }) };
};

/**
 * The requested agent, or else the session's own, even if prompts may not name that one. A `bad-input` fault when there is
 * no agent of the requested name.
 */
export const agentFor = (catalog: AgentCatalog, session: Session, requested: string | undefined): KnownAgent => {
  const own = session.agent === undefined ? undefined : catalog.agents.get(session.agent);
  return requested === undefined && own !== undefined ? own : requireAgent(catalog, requested ?? catalog.defaultAgent);
};

/** The agent and the model that answer a prompt. A `bad-input` fault when there is no such agent or model. */
export const responderFor = (
  catalog: AgentCatalog,
  session: Session,
  prompt: Pick<PromptBody, 'agent' | 'model' | 'variant'>,
): { readonly agent: KnownAgent; readonly model: ModelRef } => {
  const agent = agentFor(catalog, session, prompt.agent);
  const requested = prompt.model ?? agent.model ?? toModelRef(session) ?? catalog.defaultModel;
  const { variant } = prompt;
  return { agent, model: requireModel(catalog, variant === undefined ? requested : { ...requested, variant }) };
};

/** The format that is stored with a prompt; undefined for a text. A `bad-input` fault where its schema cannot be used. */
export const usableFormat = (
  { format }: Pick<PromptBody, 'format'>,
  compileSchema: CompileSchema,
): OutputFormat | undefined => {
  if (format === undefined || format.type === 'text') return undefined;
  try {
    compileSchema(format.schema);
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error;
    const message = `format.schema: ${error.message}`;
    throw new Fault({ kind: 'bad-input', code: 'invalid_body', param: 'format.schema', message });
  }
  return format;
};

type PartPlace = { readonly id: string; readonly sessionID: string; readonly messageID: string };

/** A part that a client sends, as it is stored at its place. */
export const toStoredPart = (
  { id, sessionID, messageID }: PartPlace,
  part: PromptBody['parts'][number],
): TextPart | FilePart => {
  const { metadata } = part;
  const place = { id, sessionID, messageID, ...(metadata === undefined ? {} : { metadata }) };
  if (part.type === 'text') {
    const { text, synthetic } = part;
    return { ...place, type: 'text', text, ...(synthetic === undefined ? {} : { synthetic }) };
  }
  const { mime, url, filename } = part;
  return { ...place, type: 'file', mime, url, ...(filename === undefined ? {} : { filename }) };
};

const promptPublication = (user: UserMessage, parts: readonly (TextPart | FilePart)[]): Publication => ({
  changes: [{ kind: 'message', message: user }, ...parts.map((part) => ({ kind: 'part' as const, part }))],
  drafts: [
    { type: 'message.updated', properties: { sessionID: user.sessionID, info: user } },
    ...parts.map((part) => partUpdatedEvent(part, user.time.created)),
  ],
});

/**
 * Accepts prompts: checks agent and model before anything is stored, and settles once the message is stored, together with
 * `isOwed`: that the prompt is to be answered even if this server ends before it begins to. A session remembers the agent
 * and the model of its last prompt.
 */
export const createPromptAcceptance = (needs: PromptAcceptanceNeeds): AcceptPrompt => {
  const { store, sessions, ids, clock, isClosing } = needs;
  const withClientID = createClientMessageIDs({ store, clock });
  const requireOpen = (sessionID: string): void => {
    if (isClosing(sessionID)) throw notFound('session', sessionID);
  };
  return async (sessionID, prompt, { isOwed, opened, earlier, also = () => ({}) }) => {
    const before = opened ?? (await sessions.get(sessionID));
    const stored = await requireCapacity(store, { sessionID, limitBytes: needs.sessionLimitBytes }, prompt);
    const { agent, model } = responderFor(needs.catalog, before, prompt);
    const format = usableFormat(prompt, needs.compileSchema);
    const clientTools = needs.usableClientTools(prompt.clientTools);
    const storePrompt = async (id: string, first: Publication = {}): Promise<AcceptedPrompt> => {
      const user: UserMessage = {
        id,
        sessionID,
        role: 'user',
        time: { created: clock.now() },
        agent: agent.name,
        model,
        ...(prompt.system === undefined ? {} : { system: prompt.system }),
        ...(prompt.tools === undefined ? {} : { tools: prompt.tools }),
        ...(format === undefined ? {} : { format }),
        ...(clientTools === undefined ? {} : { clientTools }),
      };
      const parts = prompt.parts.map((part) => toStoredPart({ id: ids('part'), sessionID, messageID: id }, part));
      /** What the prompt ends and removes. */
      let removal: Publication = {};
      const rememberChoices = async (now: Session): Promise<Session> => {
        const ended = { why: CALL_NOT_AWAITED.prompted, now: clock.now() };
        removal = joinPublications(await awaitedCallsEnd(store, now, ended), await revertedRemoval(store, now));
        requireOpen(sessionID);
        const going = withoutAwaitedCalls(withoutRevert(now));
        return { ...going, agent: agent.name, model: toSessionModel(model) };
      };
      const owed = isOwed ? answerStatePublication(user, 'owed') : {};
      const asked = joinPublications(first, promptPublication(user, parts), owed, also(user));
      const creation = opened === undefined ? {} : sessionCreation(opened);
      const storeWith = async (leaseRequest: LeaseRequest | undefined): Promise<Session> => {
        const within = (changed: Publication) => ({
          ...joinPublications(creation, changed, removal, asked),
          leaseRequest,
        });
        const session = await sessions.update(sessionID, rememberChoices, within, before);
        requireOpen(sessionID);
        return session;
      };
      // It is run as soon as it is accepted.
      const session = isOwed
        ? await needs.peers.leases.whileRequested({ sessionID, promptID: id }, storeWith)
        : await storeWith(undefined);
      return { session, user, message: { info: user, parts } };
    };
    const { messageID } = prompt;
    if (messageID !== undefined) return withClientID(sessionID, messageID, () => storePrompt(messageID));
    const last = stored.at(-1)?.id;
    const { publication, lastID } = earlier?.(last) ?? { publication: {}, lastID: last };
    return storePrompt(ids('message', lastID), publication);
  };
};
