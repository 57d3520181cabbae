import type { Clock } from '../core/clock.ts';
import { Fault } from '../core/fault.ts';
import { type Ids, isIdOf } from './ids.ts';
import type { UserMessage } from './message.ts';
import { OrphanError } from './orphan-error.ts';
import type { FilePart, TextPart } from './part.ts';
import { partUpdated } from './part-facts.ts';
import type { Fact } from './publisher.ts';
import type { ModelRef, Session } from './session.ts';
import { type Sessions, sessionModel } from './sessions.ts';
import type { Store, Told } from './store.ts';
import { agentNamed, type KnownAgent, modelNamed, type Voices } from './voices.ts';
import type { PromptIn } from './wire-in.ts';

export type PromptNeeds = {
  readonly store: Store;
  readonly sessions: Sessions;
  readonly voices: Voices;
  readonly ids: Ids;
  readonly clock: Clock;
};

export type Accepted = { readonly session: Session; readonly user: UserMessage; readonly told: Told };

const modelOf = (session: Session): ModelRef | undefined => {
  if (session.model === undefined) return undefined;
  const { providerID, id, variant } = session.model;
  return { providerID, modelID: id, ...(variant === undefined ? {} : { variant }) };
};

const refusedID = (expected: string) =>
  new Fault({ kind: 'bad-input', code: 'invalid_id', param: 'messageID', message: `messageID: expected ${expected}` });
const takenID = () => refusedID('an id that is not used yet');

/** Ids that clients chose for messages which are about to be stored. */
const createTaking = (store: Pick<Store, 'message'>) => {
  const taking = new Set<string>();
  /** Works with an id that must be one, and new. */
  return async <T>(sessionID: string, id: string, work: () => Promise<T>): Promise<T> => {
    if (!isIdOf('message', id)) throw refusedID('msg_, 12 hexadecimal digits and 14 letters or digits');
    if (taking.has(id)) throw takenID();
    taking.add(id);
    try {
      if ((await store.message(sessionID, id)) !== undefined) throw takenID();
      return await work();
    } catch (error) {
      // The session was there a moment ago, so it is the id: a message of another session has it.
      throw error instanceof OrphanError ? takenID() : error;
    } finally {
      taking.delete(id);
    }
  };
};

/** The one that is asked for, or else the session's own, which a prompt need not be free to name. */
const agentFor = (voices: Voices, session: Session, asked: string | undefined): KnownAgent => {
  const own = session.agent === undefined ? undefined : voices.agents.get(session.agent);
  return asked === undefined && own !== undefined ? own : agentNamed(voices, asked ?? voices.defaultAgent);
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
export const createAccept = ({ store, sessions, voices, ids, clock }: PromptNeeds) => {
  const taking = createTaking(store);
  return async (sessionID: string, prompt: PromptIn): Promise<Accepted> => {
    const before = await sessions.get(sessionID);
    const agent = agentFor(voices, before, prompt.agent);
    const asked = prompt.model ?? agent.model ?? modelOf(before) ?? voices.defaultModel;
    const model = modelNamed(voices, prompt.variant === undefined ? asked : { ...asked, variant: prompt.variant });
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
      const remember = (now: Session): Session => ({ ...now, agent: agent.name, model: sessionModel(model) });
      const session = await sessions.update(sessionID, remember, promptFact(user, parts));
      return { session, user, told: { info: user, parts } };
    };
    const { messageID } = prompt;
    return messageID === undefined ? keep(ids('message')) : taking(sessionID, messageID, () => keep(messageID));
  };
};
