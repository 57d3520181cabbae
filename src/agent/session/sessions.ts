import type { ByteBudget } from '../../core/byte-budget.ts';
import { Fault } from '../../core/fault.ts';
import { notFoundText } from '../../core/identifier.ts';
import type { Publication } from '../events/publisher.ts';
import { TEXT_TYPE } from '../model/ai-sdk-input.ts';
import { isId } from '../protocol/ids.ts';
import { parseDataUrl } from '../protocol/part-schemas.ts';
import type { PromptBody } from '../protocol/request-schemas.ts';
import { type ModelRef, NO_TOKENS, type Rule, type Session } from '../protocol/types.ts';
import type { AgentRuntime } from '../runtime.ts';
import { StaleSessionError } from '../store/errors.ts';
import type { MessageOutline, Store } from '../store/store.ts';
import type { RunQueue } from './run-queue.ts';

/** What a session is created with. */
type NewSession = {
  readonly directory: string;
  readonly parentID?: string | undefined;
  readonly title?: string | undefined;
  readonly agent?: string | undefined;
  readonly model?: ModelRef | undefined;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
  readonly permission?: readonly Rule[] | undefined;
};
type SessionsNeeds = Pick<AgentRuntime, 'store' | 'publisher' | 'ids' | 'clock' | 'version'>;

/** Creates, reads, changes and removes sessions, and publishes each change. */
export type Sessions = {
  readonly create: (given: NewSession) => Promise<Session>;
  /** A session that the caller stores. */
  readonly build: (given: NewSession) => Session;
  /** The session of an id; a `not-found` fault when there is none. */
  readonly get: (id: string) => Promise<Session>;
  /**
   * Stores a session as changed, with the time of the change. `within` adds what is stored and sent in the same commit,
   * before or after the session's own publication. `change` runs again when another server was faster. `known`: the session
   * as it was read a moment ago, which saves a read.
   */
  readonly update: (
    id: string,
    change: (session: Session) => Session | Promise<Session>,
    within?: (changed: Publication) => Publication,
    known?: Session,
  ) => Promise<Session>;
  readonly remove: (id: string) => Promise<void>;
};

/** What changes sessions, and what runs in them. */
export type SessionParts = AgentRuntime & { readonly sessions: Sessions; readonly runs: RunQueue };

/** A session's title before anyone or any model has given it one. */
export const isDefaultTitle = (title: string): boolean =>
  /^(?:New|Child) session - \d{4}-\d\d-\d\dT[\d:.]+Z$/.test(title);

const ADJECTIVES = 'amber brisk calm clear eager fair gentle keen lucky quiet swift warm'.split(' ');
const NOUNS = 'brook cedar cliff comet field harbor lantern meadow otter river tower willow'.split(' ');

/** A short name for people, from the random end of an id. */
export const createSlug = (id: string): string => {
  const [first = 0, second = 0] = [...id.slice(-2)].map((char) => char.charCodeAt(0));
  return `${ADJECTIVES[first % ADJECTIVES.length]}-${NOUNS[second % NOUNS.length]}`;
};

/** The fault for something that is not stored, or not any more: `session "ses_..." was not found`. */
export const notFound = (kind: 'session' | 'message' | 'part' | 'output of part', id: string): Fault =>
  new Fault({
    kind: 'not-found',
    hint: notFoundText(kind, isId(kind === 'output of part' ? 'part' : kind, id) ? id : undefined),
  });

/** Stores a new session, or one that was hidden, and sends that it was created. */
export const sessionCreation = (session: Session): Publication => ({
  changes: [{ kind: 'session', session }],
  drafts: [{ type: 'session.created', properties: { sessionID: session.id, info: session } }],
});

/** How often a change is tried. Two servers that change one session at a time get their turns within a few tries. */
const TRIES = 20;

/** Sessions of one store. Changes of one session happen one after the other. */
export const createSessions = ({ store, publisher, ids, clock, version }: SessionsNeeds): Sessions => {
  const get = async (id: string): Promise<Session> => {
    const session = await store.session(id);
    if (session === undefined) throw notFound('session', id);
    return session;
  };
  const build: Sessions['build'] = ({ directory, parentID, title, agent, model, metadata, permission }) => {
    const id = ids('session');
    const now = clock.now();
    const kind = parentID === undefined ? 'New' : 'Child';
    return {
      id,
      slug: createSlug(id),
      version,
      projectID: 'global',
      directory,
      title: title ?? `${kind} session - ${new Date(now).toISOString()}`,
      cost: 0,
      tokens: NO_TOKENS,
      time: { created: now, updated: now },
      ...(parentID === undefined ? {} : { parentID }),
      ...(agent === undefined ? {} : { agent }),
      ...(model === undefined ? {} : { model: toSessionModel(model) }),
      ...(metadata === undefined ? {} : { metadata }),
      ...(permission === undefined ? {} : { permission }),
    };
  };
  const changing = new Map<string, Promise<unknown>>();
  /** One change of a session at a time: each begins with the result of the one before. */
  const inOrder = <T>(id: string, work: () => Promise<T>): Promise<T> => {
    const result = (changing.get(id) ?? Promise.resolve()).then(work, work);
    const settled = result
      .catch(() => {})
      .then(() => {
        if (changing.get(id) === settled) changing.delete(id);
      });
    changing.set(id, settled);
    return result;
  };
  return {
    get,
    async create(given) {
      if (given.parentID !== undefined) await get(given.parentID);
      const session = build(given);
      await publisher.publish(session.directory, sessionCreation(session));
      return session;
    },
    build,
    update(id, change, within = (changed) => changed, known = undefined) {
      // What waits here changes it.
      const first = changing.has(id) ? undefined : known;
      return inOrder(id, async () => {
        for (let tries = 1; ; tries++) {
          const before = (tries === 1 ? first : undefined) ?? (await get(id));
          const changed = await change(before);
          const session = { ...changed, time: { ...changed.time, updated: clock.now() } };
          const fact: Publication = {
            changes: [{ kind: 'session', session, before }],
            drafts: [{ type: 'session.updated', properties: { sessionID: id, info: session } }],
          };
          try {
            await publisher.publish(session.directory, within(fact));
            return session;
          } catch (error) {
            // Another server was faster: its change is read, and this one is made on top of it.
            if (!(error instanceof StaleSessionError) || tries === TRIES) throw error;
          }
        }
      });
    },
    remove: (id) =>
      inOrder(id, async () => {
        const session = await get(id);
        await publisher.publish(session.directory, {
          changes: [{ kind: 'session-removed', sessionID: id }],
          drafts: [{ type: 'session.deleted', properties: { sessionID: id, info: session } }],
        });
      }),
  };
};

/** A model as session records hold it: they call the model's key `id`. */
export const toSessionModel = ({ providerID, modelID, variant }: ModelRef): NonNullable<Session['model']> => ({
  providerID,
  id: modelID,
  ...(variant === undefined ? {} : { variant }),
});

/** The largest session, where the memory of the server is enough for it. */
const SESSION_LIMIT_BYTES = 128 * 1024 * 1024;
/** The largest session of a server that holds no more messages at a time than its budget. */
export const sessionLimitBytes = (budget: Pick<ByteBudget, 'limitBytes'>): number =>
  Math.min(SESSION_LIMIT_BYTES, budget.limitBytes);
/**
 * The texts of one prompt in UTF-8, about the longest context of any model. They are written twice, as a part and in its event,
 * in one commit, which holds the event loop.
 */
const TEXT_LIMIT_BYTES = 3 * 1024 * 1024;

const countChars = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length, 0);
const countBytes = (texts: readonly string[]): number => {
  const chars = countChars(texts);
  // Too many whatever they are, and counting takes time.
  if (chars > TEXT_LIMIT_BYTES) return chars;
  const encoder = new TextEncoder();
  return texts.reduce((sum, text) => sum + encoder.encode(text).byteLength, 0);
};
type Content = Pick<PromptBody, 'parts' | 'system'>;
const textsOf = ({ parts, system = '' }: Content): readonly string[] => [
  system,
  ...parts.map((part) => (part.type === 'text' ? part.text : '')),
];
/** The texts that files hold, as they are sent to a model. */
const countTextFiles = ({ parts }: Content): number =>
  parts.reduce((sum, part) => {
    if (part.type === 'text' || !TEXT_TYPE.test(part.mime)) return sum;
    const file = parseDataUrl(part.url);
    return sum + (file === undefined ? 0 : file.data.length * (file.isBase64 ? 0.75 : 1));
  }, 0);
const countTextBytes = (content: Content): number => countBytes(textsOf(content)) + countTextFiles(content);
const countFileChars = ({ parts }: Content): number =>
  countChars(parts.map((part) => (part.type === 'text' ? '' : part.url)));
const tooLarge = (limitBytes: number, message: string) => new Fault({ kind: 'body-too-large', limitBytes, message });

const bytesOf = (outlines: readonly MessageOutline[]): number => outlines.reduce((sum, { bytes }) => sum + bytes, 0);
/** The size of a session's messages as they are stored, with their parts. */
export const sessionBytes = async (store: Pick<Store, 'messageOutlines'>, sessionID: string): Promise<number> =>
  bytesOf(await store.messageOutlines(sessionID));

type Capacity = {
  readonly sessionID: string;
  readonly limitBytes: number;
  /** What goes when the parts are stored. */
  readonly replaced?: PromptBody['parts'];
};

/**
 * A `body-too-large` fault when a prompt has too much text, or its session no capacity for it: a turn holds all messages since
 * the last summary, so they have to fit into memory. A change that makes a session no larger fits. Answers are not limited
 * here, and a turn that no longer fits ends. Returns the messages that the session has.
 */
export const requireCapacity = async (
  store: Pick<Store, 'messageOutlines'>,
  { sessionID, limitBytes, replaced = [] }: Capacity,
  content: Content,
): Promise<readonly MessageOutline[]> => {
  const textBytes = countTextBytes(content);
  if (textBytes > TEXT_LIMIT_BYTES)
    throw tooLarge(
      TEXT_LIMIT_BYTES,
      `The texts of a prompt, and of its files, may have ${TEXT_LIMIT_BYTES} bytes together, in UTF-8`,
    );
  const stored = await store.messageOutlines(sessionID);
  const storedBytes = bytesOf(stored);
  const before = { parts: replaced };
  const addedBytes = textBytes + countFileChars(content) - countTextBytes(before) - countFileChars(before);
  if (addedBytes <= 0 || storedBytes + addedBytes <= limitBytes) return stored;
  throw tooLarge(
    limitBytes,
    `The session holds ${storedBytes} bytes, and no more than ${limitBytes} may be in one. Begin a new session`,
  );
};
