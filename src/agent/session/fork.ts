import type { Clock } from '../../core/clock.ts';
import type { Publisher } from '../events/publisher.ts';
import type { Ids } from '../protocol/ids.ts';
import { type Message, NO_TOKENS, type Session } from '../protocol/types.ts';
import type { MessageWithParts, Store, StoreChange } from '../store/store.ts';
import type { DocumentRecord } from './document.ts';
import { createIDReplacement } from './new-ids.ts';
import { findRevertedContent, messagesBefore } from './revert.ts';
import type { RunQueue } from './run-queue.ts';
import { createSlug, notFound, type Sessions } from './sessions.ts';

/** `Plan` becomes `Plan (fork #1)`, and that `Plan (fork #2)`. */
export const toForkTitle = (title: string): string => {
  const [, first, count] = /^(.+) \(fork #(\d{1,9})\)$/s.exec(title) ?? [];
  return first === undefined ? `${title} (fork #1)` : `${first} (fork #${Number(count) + 1})`;
};

const promptOf = (info: Message): string => (info.role === 'user' ? info.id : info.parentID);

/**
 * What is over: neither answers that are under way, nor what they answer, nor prompts that wait. Where nothing is under way, a
 * prompt without an answer is one that nobody was to answer.
 */
export const finishedMessages = (
  messages: readonly MessageWithParts[],
  isBusy: boolean,
): readonly MessageWithParts[] => {
  const answers = messages.flatMap(({ info }) => (info.role === 'assistant' ? [info] : []));
  const open = new Set(answers.filter(({ time }) => time.completed === undefined).map(promptOf));
  const answered = new Set(answers.map(promptOf));
  const lastAnswered = messages.findLastIndex(({ info }) => info.role === 'user' && answered.has(info.id));
  const waits = ({ info }: MessageWithParts, place: number): boolean =>
    isBusy && info.role === 'user' && !answered.has(info.id) && place > lastAnswered;
  return messages.filter((told, place) => !open.has(promptOf(told.info)) && !waits(told, place));
};

/** The messages without those, and without the parts, that go with the next prompt. */
const withoutDropped = (messages: readonly MessageWithParts[], { revert }: Session): readonly MessageWithParts[] => {
  if (revert === undefined) return messages;
  const { messageIDs, parts } = findRevertedContent(messages, revert);
  const gone = new Set([...messageIDs, ...parts.map(({ id }) => id)]);
  return messages
    .filter(({ info }) => !gone.has(info.id))
    .map((told) => ({ ...told, parts: told.parts.filter(({ id }) => !gone.has(id)) }));
};

/** What a fork has of a session's messages: those before one of them, if one is named, as far as they are over and hold. */
export const messagesToFork = (
  session: Session,
  messages: readonly MessageWithParts[],
  { before, isBusy }: { readonly before: string | undefined; readonly isBusy: boolean },
): readonly MessageWithParts[] => {
  const kept = new Set((before === undefined ? messages : messagesBefore(messages, before)).map(({ info }) => info.id));
  return finishedMessages(withoutDropped(messages, session), isBusy).filter(({ info }) => kept.has(info.id));
};

export type ForkNeeds = {
  readonly store: Pick<Store, 'messages' | 'output' | 'commit'>;
  readonly publisher: Pick<Publisher, 'publish'>;
  readonly sessions: Pick<Sessions, 'get'>;
  readonly runs: Pick<RunQueue, 'statuses'>;
  readonly ids: Ids;
  readonly clock: Clock;
};
type Renamed = ReturnType<typeof createIDReplacement>;

/** What one commit writes is bounded: others write beside it. */
const GROUP_CHARS = 1024 * 1024;

const toForkedSession = ({ parentID: _, revert: _gone, ...original }: Session, id: string, now: number): Session => ({
  ...original,
  id,
  slug: createSlug(id),
  title: toForkTitle(original.title),
  cost: 0,
  tokens: NO_TOKENS,
  time: { created: now, updated: now },
});

async function* readRecords(
  store: Pick<Store, 'output'>,
  { info, parts }: MessageWithParts,
): AsyncGenerator<DocumentRecord> {
  yield { kind: 'message', message: info };
  for (const part of parts) {
    yield { kind: 'part', part };
    const text = part.type === 'tool' ? await store.output(info.sessionID, part.id) : undefined;
    if (text !== undefined) yield { kind: 'output', partID: part.id, text };
  }
}

/** What keeps copies of messages in a session that is begun, in groups of which each is a commit. */
async function* copyMessages(
  store: Pick<Store, 'output'>,
  kept: readonly MessageWithParts[],
  { sessionID, renamed }: { readonly sessionID: string; readonly renamed: Renamed },
): AsyncGenerator<readonly StoreChange[]> {
  let group: StoreChange[] = [];
  let chars = 0;
  for (const told of kept) {
    for await (const record of readRecords(store, told)) {
      const copy = renamed(record);
      group.push(copy.kind === 'output' ? { ...copy, sessionID } : copy);
      chars += JSON.stringify(copy).length;
      if (chars < GROUP_CHARS) continue;
      yield group;
      group = [];
      chars = 0;
    }
  }
  yield group;
}

/**
 * A new session with copies of what was said in another one up to a message, without it, and of what is over only. Nobody
 * finds it before it is whole. Ids are new, and what names a message or a part names its copy.
 */
export const forkSession = async (
  { store, publisher, sessions, runs, ids, clock }: ForkNeeds,
  sessionID: string,
  before: string | undefined,
): Promise<Session> => {
  const original = await sessions.get(sessionID);
  const isBusy = Object.hasOwn(await runs.statuses(), sessionID);
  const said = await store.messages(sessionID);
  if (before !== undefined && !said.some(({ info }) => info.id === before)) throw notFound('message', before);
  const kept = messagesToFork(original, said, { before, isBusy });
  const messages = kept.map(({ info }) => info.id);
  const renamed = createIDReplacement({ sessions: [{ id: sessionID, messages }] }, ids);
  const begun = renamed({ kind: 'session', session: original });
  const session = toForkedSession(original, begun.kind === 'session' ? begun.session.id : ids('session'), clock.now());
  const place = { sessionID: session.id, renamed };
  await store.commit([{ kind: 'session-begun', session }], []);
  try {
    for await (const changes of copyMessages(store, kept, place)) await store.commit(changes, []);
    await publisher.publish(session.directory, {
      changes: [{ kind: 'session', session }],
      drafts: [{ type: 'session.created', properties: { sessionID: session.id, info: session } }],
    });
  } catch (error) {
    // Whatever is left is hidden, and goes by itself in time.
    await store.commit([{ kind: 'session-given-up', sessionID: session.id }], []).catch(() => {});
    throw error;
  }
  return session;
};
